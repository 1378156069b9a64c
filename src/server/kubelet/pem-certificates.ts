import { X509Certificate } from "node:crypto";
import { pemBlocks } from "../../lib/pem-blocks.ts";

/** The certificates in a text of PEM blocks; throws when one of them is broken. */
export function readPemCertificates(pem: string): readonly X509Certificate[] {
  return pemBlocks(pem, "CERTIFICATE").map((block) => new X509Certificate(block));
}
