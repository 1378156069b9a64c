import type { Pod } from "../../../model/pod.ts";
import type { PodStage } from "../pod-stage.ts";

export interface PodProbes {
  addPod(pod: Pod): void;
  stopLivenessAndStartup(uid: string): void;
  removePod(uid: string): void;
}

/** Readiness is probed until the last container has ended; nothing restarts a container of a pod that ends. */
export function probesStage(probes: PodProbes): PodStage {
  return {
    name: "probes",
    prepare: async ({ pod }) => probes.addPod(pod),
    stopping: ({ metadata }) => probes.stopLivenessAndStartup(metadata.uid),
    release: async ({ metadata }) => probes.removePod(metadata.uid),
    remove: async (uid) => probes.removePod(uid),
  };
}
