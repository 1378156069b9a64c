import type { ApiObjectsDeps } from "./api-objects.ts";

/** How the node treats its API server. */
export interface ClusterSettings {
  /** How many events are sent per second; 0 for any number. */
  readonly eventsPerSecond: number;
  readonly eventBurst: number;
  /** How changes of config maps and secrets are noticed. */
  readonly changeDetection: ApiObjectsDeps["strategy"];
  /** Whether volumes may show the cluster's trust bundles. */
  readonly projectsTrustBundles: boolean;
  /** Whether volumes may show certificates of their pods. */
  readonly requestsPodCertificates: boolean;
}

export const defaultClusterSettings: ClusterSettings = {
  eventsPerSecond: 50,
  eventBurst: 100,
  changeDetection: "Watch",
  projectsTrustBundles: false,
  requestsPodCertificates: false,
};
