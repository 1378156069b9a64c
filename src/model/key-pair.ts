/** A certificate, with those that vouch for it behind it, and its private key, as PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}
