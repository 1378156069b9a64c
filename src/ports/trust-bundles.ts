import type { Result } from "../lib/result.ts";
import type { ClusterTrustBundleProjection } from "../model/generated/kubernetes.ts";

/** The authorities that a cluster publishes for its workloads. */
export interface TrustBundles {
  /** What a pod asks for, as PEM; empty where there is none and need not be one. */
  anchors(
    projection: ClusterTrustBundleProjection,
    signal: AbortSignal,
  ): Promise<Result<string, string>>;
}
