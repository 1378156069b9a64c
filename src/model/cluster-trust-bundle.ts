import type { ObjectMeta } from "./generated/kubernetes.ts";

/** An object of certificates.k8s.io: authorities that workloads of the cluster may trust. */
export interface ClusterTrustBundle {
  readonly metadata?: ObjectMeta | undefined;
  readonly spec?: ClusterTrustBundleSpec | undefined;
}

interface ClusterTrustBundleSpec {
  /** Whose bundle it is; none for one that is used by its name alone. */
  readonly signerName?: string | undefined;
  /** Certificates as PEM. */
  readonly trustBundle?: string | undefined;
}
