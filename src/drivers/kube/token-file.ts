import { readFileSync } from "node:fs";
import { errorText } from "../../lib/error-text.ts";

// Tokens that are mounted into pods are renewed well before they expire; this is what other clients use, too.
const rereadMs = 60_000;

/** A bearer token in a file that others renew. While it cannot be read, the last one stays. */
export class TokenFile {
  readonly #path: string;
  #token: string | undefined;
  #readAtMs = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws as long as there never was one. */
  current(): string {
    if (this.#token !== undefined && performance.now() - this.#readAtMs < rereadMs) {
      return this.#token;
    }
    return this.read();
  }

  /** The same, from the file now. */
  read(): string {
    try {
      const text = readFileSync(this.#path, "utf8").trim();
      if (text === "") throw new Error("it is empty");
      this.#token = text;
    } catch (error) {
      if (this.#token === undefined) {
        throw new Error(`cannot read the token file ${this.#path} (${errorText(error)})`, {
          cause: error,
        });
      }
    }
    this.#readAtMs = performance.now();
    return this.#token;
  }
}
