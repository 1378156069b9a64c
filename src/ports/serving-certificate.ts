/** A certificate with its key, each as PEM; the certificate may be followed by its chain. */
export interface CertificatePair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** What the kubelet's API shows its clients; it may be renewed at any time. */
export interface ServingCertificate {
  current(): CertificatePair;
  /** Calls back whenever there is another one, until `signal` aborts. */
  onChange(listener: (pair: CertificatePair) => void, signal: AbortSignal): void;
}
