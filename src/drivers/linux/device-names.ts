import { readlinkSync } from "node:fs";
import { basename } from "node:path";

/** What block devices are called; their numbers do not change while they are there. */
export class DeviceNames {
  readonly #folder: string;
  readonly #names = new Map<string, string>();

  constructor(folder = "/sys/dev/block") {
    this.#folder = folder;
  }

  /** The name of a device such as 8:0; the number itself when it has none. */
  nameOf(number: string): string {
    const known = this.#names.get(number);
    if (known !== undefined) return known;
    try {
      const name = `/dev/${basename(readlinkSync(`${this.#folder}/${number}`))}`;
      this.#names.set(number, name);
      return name;
    } catch {
      return number;
    }
  }
}
