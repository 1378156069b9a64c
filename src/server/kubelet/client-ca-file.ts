// The file of the authorities that vouch for clients, read again when it changes.
import { readFile } from "node:fs/promises";
import { errorText } from "../../lib/error-text.ts";
import { SetupError } from "../../lib/setup-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { readPemCertificates } from "./pem-certificates.ts";

const rereadMs = 10_000;

export class ClientCaFile {
  readonly #path: string;
  #pem: string;

  private constructor(path: string, pem: string) {
    this.#path = path;
    this.#pem = pem;
  }

  /** Throws a SetupError when there are no certificates in the file. */
  static async open(path: string): Promise<ClientCaFile> {
    try {
      return new ClientCaFile(path, await readAuthorities(path));
    } catch (error) {
      throw new SetupError(
        `authentication.x509.clientCAFile ${path} cannot be used (${errorText(error)})`,
        "name a PEM file with the certificates of those who vouch for clients (--client-ca-file)",
        { cause: error },
      );
    }
  }

  get pem(): string {
    return this.#pem;
  }

  /** Calls back when the file has other certificates; one that is broken meanwhile changes nothing. */
  async run(
    onChange: () => void,
    { clock, log }: { readonly clock: Pick<Clock, "sleep">; readonly log: Log },
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(rereadMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const pem = await readAuthorities(this.#path);
        if (pem === this.#pem) continue;
        this.#pem = pem;
        log.info("clients are known by other authorities now", { file: this.#path });
        onChange();
      } catch (error) {
        log.warn("cannot read the authorities of clients again", { file: this.#path, error });
      }
    }
  }
}

async function readAuthorities(path: string): Promise<string> {
  const pem = await readFile(path, "utf8");
  if (readPemCertificates(pem).length === 0) throw new Error("it has no certificate");
  return pem;
}
