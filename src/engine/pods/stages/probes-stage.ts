import type { Prober } from "../../probes/prober.ts";
import type { PodStage } from "../pod-stage.ts";

export type PodProbes = Pick<Prober, "addPod" | "stopLivenessAndStartup" | "removePod">;

/** Readiness is probed until the last container has ended; nothing restarts a container of a pod that ends. */
export function probesStage(probes: PodProbes): PodStage {
  return {
    name: "probes",
    prepare: async ({ pod }) => probes.addPod(pod),
    stopping: (pod) => probes.stopLivenessAndStartup(pod),
    release: async ({ metadata }) => probes.removePod(metadata.uid),
    remove: async (uid) => probes.removePod(uid),
  };
}
