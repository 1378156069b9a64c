import type { Result } from "../lib/result.ts";
import type { PodCertificateProjection } from "../model/generated/kubernetes.ts";
import type { Pod } from "../model/pod.ts";
import type { PodCredentials } from "../model/pod-certificate.ts";

/** A certificate that a volume of a pod is to show. */
export interface WantedCertificate {
  readonly pod: Pod;
  readonly volumeName: string;
  readonly sourceIndex: number;
  readonly projection: PodCertificateProjection;
}

/** Certificates of pods; renewed when a volume asks for one that is due. */
export interface PodCertificates {
  credentials(
    wanted: WantedCertificate,
    signal: AbortSignal,
  ): Promise<Result<PodCredentials, string>>;
}

/** Makes keys of pods. */
export interface PodKeys {
  /** A new key as PEM, and a request without a subject that it signed, as DER in base64. Rejects for a type that does not exist. */
  create(keyType: string): Promise<{ readonly keyPem: string; readonly request: string }>;
}
