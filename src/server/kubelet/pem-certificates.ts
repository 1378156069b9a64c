import { X509Certificate } from "node:crypto";

/** The certificates in a text of PEM blocks; throws when one of them is broken. */
export function readPemCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}
