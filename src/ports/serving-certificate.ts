import type { KeyPair } from "../model/key-pair.ts";

/** What the kubelet's API shows its clients; it may be renewed at any time. */
export interface ServingCertificate {
  current(): KeyPair;
  /** Calls back whenever there is another one, until `signal` aborts. */
  onChange(listener: (pair: KeyPair) => void, signal: AbortSignal): void;
}
