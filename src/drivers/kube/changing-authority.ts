import { errorText } from "../../lib/error-text.ts";
import type { Log } from "../../ports/log.ts";
import { fileStamp, parseCertificates, readPem } from "./key-pair-files.ts";

/** The certificate authorities of a server, in a file that others replace. While it is damaged or gone, the last good ones stay. */
export class ChangingAuthority {
  readonly #path: string;
  readonly #log: Log;
  #stamp: string | undefined;
  #pem: string;

  /** Throws an error that names the file when it cannot be used. */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
    this.#stamp = fileStamp(path);
    this.#pem = readAuthority(path);
  }

  /** Reads the file if it has changed. */
  current(): string {
    const stamp = fileStamp(this.#path);
    if (stamp === this.#stamp) return this.#pem;
    this.#stamp = stamp;
    const file = this.#path;
    try {
      const pem = readAuthority(file);
      if (pem !== this.#pem) this.#log.info("reloaded the CA bundle of the API server", { file });
      this.#pem = pem;
    } catch (error) {
      const problem = errorText(error);
      this.#log.warn("the new CA bundle of the API server cannot be used", { file, problem });
    }
    return this.#pem;
  }
}

function readAuthority(path: string): string {
  const pem = readPem(path);
  parseCertificates(pem);
  return pem;
}
