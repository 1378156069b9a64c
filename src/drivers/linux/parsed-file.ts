import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

interface Parsed<T> {
  readonly version: string;
  readonly value: T;
}

/** What a small file of the machine says, parsed again only after it changed. A file that cannot be read counts as empty. */
export class ParsedFile<T> {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #parse: (text: string) => T;
  #parsed: Parsed<T> | undefined;

  constructor(path: string, maxBytes: number, parse: (text: string) => T) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#parse = parse;
  }

  read(): T {
    const version = this.#version();
    if (this.#parsed?.version === version) return this.#parsed.value;
    const value = this.#parse(this.#text());
    this.#parsed = { version, value };
    return value;
  }

  #version(): string {
    const { ino, size, mtimeNs } =
      statSync(this.#path, { bigint: true, throwIfNoEntry: false }) ?? {};
    return `${ino} ${size} ${mtimeNs}`;
  }

  /** Its beginning: what lies beyond the limit is not read. */
  #text(): string {
    let file: number;
    try {
      file = openSync(this.#path, "r");
    } catch {
      return "";
    }
    try {
      const bytes = Buffer.alloc(Math.min(fstatSync(file).size, this.#maxBytes));
      return bytes.toString("utf8", 0, readSync(file, bytes));
    } catch {
      return "";
    } finally {
      closeSync(file);
    }
  }
}
