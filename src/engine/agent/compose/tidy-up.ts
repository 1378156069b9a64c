import { housekeep } from "../../loop/housekeeping.ts";
import { forgetPods } from "../../pods/forget-pods.ts";
import type { AgentParts } from "../agent-parts.ts";

/** Brings the agent's memory and the machine in line with what is wanted, and forgets pods of which nothing is left. */
export async function tidyUp(parts: AgentParts): Promise<void> {
  const runtimeListed = parts.observed.isListed;
  const allSourcesHeard = parts.readiness.areAllHeard;
  await housekeep({
    registry: parts.registry,
    workers: parts.workers,
    statuses: {
      endLife: (uid) => parts.statuses.endLife(uid),
      keepOnly: (uids) => {
        for (const { uid } of parts.table.all()) {
          if (uids.has(uid)) continue;
          parts.statuses.endLife(uid);
          parts.cluster?.endLife(uid);
        }
      },
    },
    remains: parts.remains,
    faults: parts.faults,
    runtimeListed,
    allSourcesHeard,
    metrics: parts.ports.metrics,
    observed: parts.observed,
    admit: (pod) => parts.admission.admit(pod),
    isActive: (pod) =>
      parts.admission.isActive(pod) &&
      !parts.admission.waitsForRoom(pod) &&
      parts.names.isFree(pod),
  });
  await parts.allocations.writeAgain();
  if (!runtimeListed || !allSourcesHeard) return;
  parts.cluster?.lookAtMirrors();
  parts.checkpoints.retry();
  forgetPods(parts);
}
