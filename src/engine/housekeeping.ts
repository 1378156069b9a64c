import type { KnownPod } from "../core/worker/worker-queries.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { Pod } from "../model/pod.ts";
import type { PodRegistry } from "./pod-registry.ts";
import type { PodRemains } from "./pod-remains.ts";
import type { PodStatuses } from "./pod-statuses.ts";
import type { PodWorkers } from "./pod-workers.ts";

export interface HousekeepingDeps {
  readonly registry: PodRegistry;
  readonly workers: PodWorkers;
  readonly statuses: Pick<PodStatuses, "keepOnly">;
  readonly remains: PodRemains;
  readonly probes: { cleanup(runningUids: ReadonlySet<string>): void };
  /** Every source was heard, and all pods of the runtime are known. */
  readonly ready: () => boolean;
  readonly runtimePods: () => ReadonlyMap<string, ObservedPod>;
  /** A pod came back under its old UID, and begins anew. */
  readonly onRestarted: (pod: Pod) => void;
  /** A pod that nobody wants was found running. */
  readonly onOrphan: () => void;
  /** Whether a pod that has no worker should get one: it was not refused and has not ended. */
  readonly isActive: (pod: Pod) => boolean;
}

/**
 * Brings the agent's memory and the machine in line with what is wanted: ends pods that nobody wants, restarts
 * the life of pods that came back under their old UID, and removes what ended pods left.
 */
export async function housekeep(deps: HousekeepingDeps): Promise<void> {
  if (!deps.ready()) return;
  const { registry, workers, statuses, probes, remains } = deps;
  const desired = registry.list();
  const desiredUids = new Set(desired.map(({ metadata }) => metadata.uid));
  const known = workers.syncKnownPods(desiredUids);
  probes.cleanup(mayRun(known));
  for (const pod of desired) {
    const { uid } = pod.metadata;
    if (known.has(uid) || remains.isRemoving(uid) || !deps.isActive(pod)) continue;
    workers.updatePod({ updateType: "create", pod, mirrorPod: registry.mirrorOf(pod) });
    desiredUids.add(uid);
    deps.onRestarted(pod);
  }
  for (const [uid, observed] of deps.runtimePods()) {
    if (known.has(uid) || desiredUids.has(uid) || !isRunning(observed)) continue;
    const kill = { graceSeconds: 1 };
    workers.updatePod({ updateType: "kill", runningPod: observed, kill });
    desiredUids.add(uid);
    deps.onOrphan();
  }
  const kept = new Set([...desiredUids, ...known.keys()]);
  statuses.keepOnly(kept);
  await remains.removeAllBut(kept);
}

function mayRun(known: ReadonlyMap<string, KnownPod>): ReadonlySet<string> {
  const live = [...known].filter(([, { state }]) => state !== "terminated");
  return new Set(live.map(([uid]) => uid));
}

function isRunning({ containers, sandboxes }: ObservedPod): boolean {
  return (
    containers.some(({ state }) => state === "running") ||
    sandboxes.some(({ state }) => state === "ready")
  );
}
