import type { KeyPair } from "./key-pair.ts";

/** Whom a certificate is for. */
export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In their canonical form. */
  readonly ipAddresses: readonly string[];
}

/** A certificate with its key, and what the certificate says. */
export interface StoredCertificate extends KeyPair {
  readonly subject: CertificateTemplate;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}
