import type { CertificateTemplate, StoredCertificate } from "../model/certificate.ts";
import type { KeyPair } from "../model/key-pair.ts";

/** Where the current certificate of one purpose is kept. */
export interface CertificateStore {
  /** Undefined when there is none; rejects when it cannot be read, naming the file. */
  read(): Promise<StoredCertificate | undefined>;
  /** Makes it the current one, in one step. Rejects when the two do not belong together. */
  write(pair: KeyPair): Promise<StoredCertificate>;
}

/** Makes keys, and requests for certificates for them. */
export interface CertificateRequests {
  /** A new key; both as PEM. */
  create(
    template: CertificateTemplate,
  ): Promise<{ readonly csrPem: string; readonly keyPem: string }>;
}
