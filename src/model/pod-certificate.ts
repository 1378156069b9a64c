import type { Condition, ObjectMeta } from "./generated/kubernetes.ts";

/** An object of certificates.k8s.io: a node asks a signer for a certificate of one of its pods. */
export interface PodCertificateRequest {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata?: ObjectMeta | undefined;
  readonly spec: PodCertificateRequestSpec;
  readonly status?: PodCertificateRequestStatus | undefined;
}

interface PodCertificateRequestSpec {
  readonly signerName: string;
  readonly podName: string;
  readonly podUID: string;
  readonly serviceAccountName: string;
  readonly serviceAccountUID: string;
  readonly nodeName: string;
  readonly nodeUID: string;
  readonly maxExpirationSeconds?: number | undefined;
  /** DER in base64: a request without a subject, which proves that the pod's node has the key. */
  readonly stubPKCS10Request: string;
  readonly unverifiedUserAnnotations?: Readonly<Record<string, string>> | undefined;
}

interface PodCertificateRequestStatus {
  readonly conditions?: readonly Condition[] | undefined;
  /** As PEM, the pod's own certificate first. */
  readonly certificateChain?: string | undefined;
  readonly beginRefreshAt?: string | undefined;
  readonly notAfter?: string | undefined;
}

/** What a pod shows and proves who it is with, as PEM. */
export interface PodCredentials {
  readonly keyPem: string;
  readonly chainPem: string;
}
