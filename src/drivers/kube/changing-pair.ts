import type { KeyPair } from "../../model/key-pair.ts";
import { fileStamp, readKeyPair } from "./key-pair-files.ts";

/** A certificate and key in files that others replace. While they are damaged or gone, the last good ones stay. */
export class ChangingPair {
  readonly #certFile: string;
  readonly #keyFile: string;
  #stamp = "";
  #pair: KeyPair | undefined;

  constructor(certFile: string, keyFile: string) {
    this.#certFile = certFile;
    this.#keyFile = keyFile;
  }

  /** Reads the files if they have changed. Throws only as long as there never was a good pair. */
  current(onProblem: (error: unknown) => void): KeyPair {
    const stamp = `${fileStamp(this.#certFile)} ${fileStamp(this.#keyFile)}`;
    if (this.#pair !== undefined && stamp === this.#stamp) return this.#pair;
    try {
      const pair = readKeyPair(this.#certFile, this.#keyFile);
      this.#pair = pair;
      this.#stamp = stamp;
      return pair;
    } catch (error) {
      if (this.#pair === undefined) throw error;
      if (stamp !== this.#stamp) onProblem(error);
      this.#stamp = stamp;
      return this.#pair;
    }
  }
}
