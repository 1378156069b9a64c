import { replacedPods } from "../../core/source/replaced-pods.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Faults } from "../agent/faults.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodRemains } from "../pods/pod-remains.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";

export interface HousekeepingDeps {
  readonly registry: PodRegistry;
  readonly workers: PodWorkers;
  readonly statuses: Pick<PodStatuses, "endLife"> & { keepOnly(uids: ReadonlySet<string>): void };
  readonly remains: PodRemains;
  readonly faults: Pick<Faults, "attempt">;
  /** All pods of the runtime are known. */
  readonly runtimeListed: boolean;
  /** Every source was heard: who is not wanted by now is wanted by nobody. */
  readonly allSourcesHeard: boolean;
  readonly observed: Pick<ObservedPods, "all" | "unread">;
  readonly metrics: Pick<Metrics, "increment">;
  /** Whether the node has room for the pod; one that is refused has its final status afterwards. */
  readonly admit: (pod: Pod) => boolean;
  /** Whether a pod that has no worker should get one: it was not refused and has not ended. */
  readonly isActive: (pod: Pod) => boolean;
}

/**
 * Brings the agent's memory and the machine in line with what is wanted: ends pods that nobody wants, restarts
 * the life of pods that came back under their old UID, and removes what ended pods left.
 */
export async function housekeep(deps: HousekeepingDeps): Promise<void> {
  if (!deps.runtimeListed) return;
  const { registry, workers, statuses, remains } = deps;
  const desired = registry.list();
  if (!deps.allSourcesHeard) {
    endReplaced(deps, desired);
    return;
  }
  const desiredUids = new Set(desired.map(({ metadata }) => metadata.uid));
  const hadWorker = desired.filter(({ metadata }) => workers.stateOf(metadata.uid) !== undefined);
  const known = workers.syncKnownPods(desiredUids);
  for (const pod of hadWorker.filter(isStaticPod)) {
    if (!known.has(pod.metadata.uid)) forgetLife(deps, pod);
  }
  for (const pod of registry.list()) {
    const { uid } = pod.metadata;
    if (known.has(uid) || remains.isRemoving(uid)) continue;
    // Also one that throws: it stays wanted.
    desiredUids.add(uid);
    deps.faults.attempt("housekeeping", uid, () => restartPod(deps, pod));
  }
  for (const observed of deps.observed.all()) {
    const { uid } = observed;
    if (known.has(uid) || desiredUids.has(uid) || !isRunning(observed)) continue;
    deps.faults.attempt("housekeeping", uid, () => endOrphan(deps, observed));
    desiredUids.add(uid);
  }
  // They may run.
  const unread = [...deps.observed.unread()].map(([uid]) => uid);
  const kept = new Set([...desiredUids, ...known.keys(), ...unread]);
  statuses.keepOnly(kept);
  await remains.removeAllBut(kept);
}

function restartPod(deps: HousekeepingDeps, pod: Pod): void {
  const { registry, workers } = deps;
  if (!deps.isActive(pod)) return;
  // What its last life was granted is given back: the next one asks for its own.
  if (!deps.admit(pod)) return;
  workers.updatePod({ updateType: "create", pod, mirrorPod: registry.mirrorOf(pod) });
  const labels = { static: isStaticPod(pod) ? "true" : "" };
  deps.metrics.increment("kubelet_restarted_pods_total", labels);
}

/** What was told of a static pod's last life says nothing about the next: containers that had ended for good begin again. */
function forgetLife({ registry, statuses }: HousekeepingDeps, pod: Pod): void {
  statuses.endLife(pod.metadata.uid);
  registry.set({ ...pod, status: undefined });
}

/**
 * A static pod may be what the API server waits for, or the API server itself: what runs in its place does not wait
 * until the API server was heard.
 */
function endReplaced(deps: HousekeepingDeps, desired: readonly Pod[]): void {
  const running = [...deps.observed.all()].filter(isRunning);
  for (const observed of replacedPods(desired, running)) {
    if (deps.workers.stateOf(observed.uid) === undefined) endOrphan(deps, observed);
  }
}

function endOrphan({ workers, metrics }: HousekeepingDeps, runningPod: ObservedPod): void {
  workers.updatePod({ updateType: "kill", runningPod, kill: { graceSeconds: 1 } });
  metrics.increment("kubelet_orphaned_runtime_pods_total");
}

function isRunning({ containers, sandboxes }: ObservedPod): boolean {
  return (
    containers.some(({ state }) => state === "running") ||
    sandboxes.some(({ state }) => state === "ready")
  );
}
