import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { errorText } from "../../lib/error-text.ts";
import { pemBlocks } from "../../lib/pem-blocks.ts";
import type { KeyPair } from "../../model/key-pair.ts";

/** The certificates of a PEM text, in their order. Throws when one is damaged, or when there is none. */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  const certificates = pemBlocks(pem, "CERTIFICATE").map(parseCertificate);
  if (certificates.length === 0) throw new Error("there is no certificate in it");
  return certificates;
}

function parseCertificate(block: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch (error) {
    throw new Error("a certificate in it is damaged", { cause: error });
  }
}

/** Throws unless the key is that of the first certificate; says nothing of the key itself. */
export function checkKeyPair({ certPem, keyPem }: KeyPair): void {
  const [leaf] = parseCertificates(certPem);
  const key = privateKey(keyPem);
  if (leaf?.checkPrivateKey(key) !== true) {
    throw new Error("the private key does not belong to the certificate");
  }
}

function privateKey(pem: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error("there is no usable private key in it");
  }
}

/** A certificate and its key from files, which may be one and the same. Throws an error that names them. */
export function readKeyPair(certFile: string, keyFile: string): KeyPair {
  const pair = { certPem: readPem(certFile), keyPem: readPem(keyFile) };
  try {
    checkKeyPair(pair);
  } catch (error) {
    const files = certFile === keyFile ? certFile : `${certFile} with ${keyFile}`;
    throw new Error(`${files} cannot be used: ${errorText(error)}`, { cause: error });
  }
  return pair;
}

/** A PEM file's text; throws an error that names it. */
export function readPem(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`cannot read ${path} (${errorText(error)})`, { cause: error });
  }
}

/** What a file's content is known by without reading it; undefined when it cannot be seen. */
export function fileStamp(path: string): string | undefined {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch {
    return undefined;
  }
}
