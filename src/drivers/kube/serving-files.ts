import { accessSync, constants } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { sleep } from "../../lib/timers.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { Log } from "../../ports/log.ts";
import type { ServingCertificate } from "../../ports/serving-certificate.ts";
import { ChangingPair } from "./changing-pair.ts";
import { createSelfSigned } from "./x509.ts";

/** A serving certificate that must be kept up to date while it is used. */
export interface KeptServingCertificate {
  readonly certificate: ServingCertificate;
  /** Until `signal` aborts. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** A serving certificate from files, read again when they change. Throws when they cannot be used at the start. */
export function servingFiles(
  files: { readonly certFile: string; readonly keyFile: string },
  log: Log,
  intervalMs: number,
): KeptServingCertificate {
  const source = new ChangingPair(files.certFile, files.keyFile);
  const listeners = new Set<(pair: KeyPair) => void>();
  const read = (): KeyPair =>
    source.current((error) => {
      log.warn("the new serving certificate cannot be used", { error: errorText(error) });
    });
  let current = read();
  return {
    certificate: {
      current: () => current,
      onChange: (listener, signal) => {
        listeners.add(listener);
        signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
      },
    },
    run: async (signal) => {
      for (;;) {
        await sleep(intervalMs, signal).catch(() => undefined);
        if (signal.aborted) return;
        const now = read();
        if (now === current) continue;
        current = now;
        log.info("the serving certificate was replaced", { file: files.certFile });
        for (const listener of listeners) listener(now);
      }
    },
  };
}

/** The files of a certificate that the node has signed for itself, made if they are missing. */
export async function selfSignedFiles(
  folder: string,
  host: string,
): Promise<{ readonly certFile: string; readonly keyFile: string }> {
  const files = { certFile: join(folder, "kubelet.crt"), keyFile: join(folder, "kubelet.key") };
  const hasCert = isReadable(files.certFile);
  const hasKey = isReadable(files.keyFile);
  if (hasCert && hasKey) return files;
  if (hasCert || hasKey) {
    const missing = hasCert ? files.keyFile : files.certFile;
    throw new Error(`error reading ${missing}, certificate and key must be supplied as a pair`);
  }
  const { certPem, keyPem } = await createSelfSigned(host, Date.now());
  await mkdir(dirname(files.certFile), { recursive: true, mode: 0o755 });
  await writeFile(files.certFile, certPem, { mode: 0o644 });
  await writeFile(files.keyFile, keyPem, { mode: 0o600 });
  return files;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
