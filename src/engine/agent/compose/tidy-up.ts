import { housekeep } from "../../loop/housekeeping.ts";
import type { AgentParts } from "../agent-parts.ts";

/** Brings the agent's memory and the machine in line with what is wanted, and forgets pods of which nothing is left. */
export async function tidyUp(parts: AgentParts): Promise<void> {
  const { runtimeListed } = parts;
  const allSourcesHeard = parts.readiness.areAllHeard;
  await housekeep({
    registry: parts.registry,
    workers: parts.workers,
    statuses: {
      forget: (uid) => parts.statuses.forget(uid),
      keepOnly: (uids) => {
        parts.statuses.keepOnly(uids);
        parts.memory.checkpoints.keepOnly(uids);
        parts.cluster?.keepOnly(uids);
      },
    },
    remains: parts.remains,
    faults: parts.faults,
    probes: parts.prober,
    runtimeListed,
    allSourcesHeard,
    onRestarted: (pod) => parts.metrics.noteRestart(pod),
    onOrphan: () => parts.metrics.noteOrphan(),
    runtimePods: () => parts.observer.pods,
    unreadPods: () => parts.observer.unreadPods(),
    admit: (pod) => parts.admission.admit(pod),
    isActive: (pod) =>
      parts.admission.isActive(pod) &&
      !parts.admission.waitsForRoom(pod) &&
      parts.names.isFree(pod),
  });
  await parts.allocations.writeAgain();
  if (!runtimeListed || !allSourcesHeard) return;
  parts.cluster?.lookAtMirrors();
  parts.memory.crashLoop.prune();
  parts.memory.checkpoints.retry();
  const isLeft = (uid: string): boolean =>
    parts.workers.stateOf(uid) !== undefined ||
    parts.observer.pods.has(uid) ||
    parts.remains.isRemoving(uid);
  // Also of pods that went while no agent ran: nobody sees those leave.
  const unknown = parts.memory.checkpoints.uids.filter(
    (uid) => parts.registry.get(uid) === undefined,
  );
  const gone = [...parts.view.forgetGone(isLeft), ...unknown.filter((uid) => !isLeft(uid))];
  for (const uid of new Set(gone)) {
    parts.table.delete(uid);
    parts.cache.delete(uid);
    parts.memory.forget(uid);
    parts.metrics.forget(uid);
  }
}
