import { podHostname as hostnameOf } from "../../../src/core/network/pod-hostname.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface PodHostnameInput {
  readonly pod: Pod;
  readonly clusterDomain: string;
}

export const podHostname: VectorDomain = vectorDomain<PodHostnameInput>(
  "pod-hostname",
  ({ pod, clusterDomain }) => {
    const result = hostnameOf(pod, clusterDomain);
    return result.ok ? result.value : { error: result.error };
  },
);
