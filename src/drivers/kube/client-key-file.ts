import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CertificateTemplate } from "../../model/certificate.ts";
import { createCsr, createKey, keyPem } from "./x509.ts";

const fileName = "kubelet-client.key.tmp";

/** A request for a node's first certificate, which stays the same until the certificate is there. */
export interface FirstRequest {
  /** Names the request for this key, subject and use, so that it is found again after a restart. */
  readonly name: string;
  readonly csrPem: string;
  readonly keyPem: string;
  readonly usages: readonly string[];
}

/** Makes the request with the key that is kept for it in a folder, or with `usedKeyPem`. */
export async function firstRequest(
  folder: string,
  template: CertificateTemplate,
  usedKeyPem: string | undefined,
): Promise<FirstRequest> {
  const key = parseKey(usedKeyPem) ?? (await keptKey(join(folder, fileName)));
  const usages = [
    "digital signature",
    "client auth",
    ...(key.asymmetricKeyType === "rsa" ? ["key encipherment"] : []),
  ];
  return {
    name: digestedName(key, template, usages),
    csrPem: createCsr(template, key),
    keyPem: keyPem(key),
    usages,
  };
}

/** The certificate is there: its key is kept with it from now on. */
export async function removeKeptKey(folder: string): Promise<void> {
  await rm(join(folder, fileName), { force: true });
}

async function keptKey(path: string): Promise<KeyObject> {
  const kept = parseKey(await readFile(path, "utf8").catch(() => undefined));
  if (kept !== undefined) return kept;
  const key = await createKey();
  await mkdir(join(path, ".."), { recursive: true, mode: 0o755 });
  await writeFile(path, keyPem(key), { mode: 0o600 });
  return key;
}

function parseKey(pem: string | undefined): KeyObject | undefined {
  if (pem === undefined) return undefined;
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function digestedName(
  key: KeyObject,
  { commonName, organizations }: CertificateTemplate,
  usages: readonly string[],
): string {
  const hash = createHash("sha512-256");
  const publicKey = createPublicKey(key).export({ format: "der", type: "spki" });
  const texts = [commonName, ...organizations, ...usages].map((text) => Buffer.from(text));
  // The separator is not a digit of the encoding, so that no two lists give one stream.
  for (const part of [publicKey, ...texts]) hash.update(`${part.toString("base64url")}|`);
  return `node-csr-${hash.digest("base64url")}`;
}
