import { whatIsLeft } from "../../core/pod/pod-leftovers.ts";
import { isRuntimeStopped } from "../../core/worker/runtime-stopped.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Faults } from "../agent/faults.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { PodAdmission } from "../intake/pod-admission.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import { hasFiles } from "../pods/pod-memory.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodRemains } from "../pods/pod-remains.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import type { StatusCheckpoints } from "../status/status-checkpoints.ts";

export interface HousekeepingDeps {
  readonly table: PodTable;
  readonly registry: PodRegistry;
  readonly sources: SourceReadiness;
  readonly workers: Pick<PodWorkers, "syncKnownPods" | "updatePod">;
  readonly admission: Pick<PodAdmission, "admit">;
  readonly active: Pick<ActivePods, "has">;
  readonly statuses: Pick<PodStatuses, "endLife">;
  readonly remains: Pick<PodRemains, "removeAllBut">;
  readonly faults: Pick<Faults, "attempt">;
  readonly metrics: Pick<Metrics, "increment">;
}

/** What is kept in order between rounds. */
export interface KeptRecords {
  readonly allocations: Pick<PodAllocations, "writeAgain">;
  readonly checkpoints: Pick<StatusCheckpoints, "retry">;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "lookAtMirrors"> | undefined;
  readonly observed: Pick<ObservedPods, "has">;
}

/** Brings the agent's memory and the machine in line with what is wanted, and forgets pods of which nothing is left. */
export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  readonly #records: KeptRecords;

  constructor(deps: HousekeepingDeps, records: KeptRecords) {
    this.#deps = deps;
    this.#records = records;
  }

  async run(): Promise<void> {
    const { sources, table } = this.#deps;
    const { allocations, checkpoints, cluster, observed } = this.#records;
    await tidyPods(this.#deps);
    await allocations.writeAgain();
    if (!sources.areAllReady) return;
    cluster?.lookAtMirrors();
    checkpoints.retry();
    forgetPods(table, observed);
  }
}

/**
 * Ends pods that no source wants, begins the next life of pods that came back under their old UID, and removes what
 * ended pods left. Until every source was ready, only pods that run in the place of a static pod are ended.
 */
async function tidyPods(deps: HousekeepingDeps): Promise<void> {
  if (!deps.sources.areAllReady) {
    const replaced = replacedByStaticPods(deps.table);
    endOrphans(deps, (uid) => replaced.has(uid));
    return;
  }
  const { registry, workers, remains, statuses } = deps;
  const desired = registry.list();
  const hadWorker = desired.filter(({ metadata }) => hasWorker(deps, metadata.uid));
  workers.syncKnownPods(new Set(desired.map(({ metadata }) => metadata.uid)));
  for (const pod of hadWorker.filter(isStaticPod)) {
    if (!hasWorker(deps, pod.metadata.uid)) forgetLife(deps, pod);
  }
  for (const pod of registry.list()) {
    const { uid } = pod.metadata;
    if (hasWorker(deps, uid) || deps.table.get(uid)?.removal?.state === "running") continue;
    deps.faults.attempt("housekeeping", uid, () => restartPod(deps, pod));
  }
  endOrphans(deps, () => true);
  const kept = new Set<PodUid>();
  for (const { uid, wanted, worker, observed } of deps.table.all()) {
    const mayRun = observed?.unread !== undefined;
    if (wanted !== undefined || worker !== undefined || mayRun) kept.add(uid);
  }
  for (const { uid, removal } of deps.table.all()) {
    // Before its removal begins, and again only should that have failed.
    const isBegun = removal?.state === "running" || removal?.state === "done";
    if (!kept.has(uid) && !isBegun) statuses.endLife(uid);
  }
  await remains.removeAllBut(kept);
}

function hasWorker({ table }: HousekeepingDeps, uid: PodUid): boolean {
  return table.get(uid)?.worker !== undefined;
}

function restartPod(deps: HousekeepingDeps, pod: Pod): void {
  const { registry, workers, admission, active, metrics } = deps;
  if (!active.has(pod.metadata.uid)) return;
  // What its last life was granted is given back: the next one asks for its own.
  if (!admission.admit(pod)) return;
  workers.updatePod({ updateType: "create", pod, mirrorPod: registry.mirrorOf(pod) });
  const labels = { static: isStaticPod(pod) ? "true" : "" };
  metrics.increment("kubelet_restarted_pods_total", labels);
}

/** The status of a static pod's last life says nothing about the next: containers that had ended for good begin again. */
function forgetLife({ registry, statuses }: HousekeepingDeps, pod: Pod): void {
  statuses.endLife(pod.metadata.uid);
  registry.set({ ...pod, status: undefined });
}

/**
 * The pods that run in the place of a static pod, which waits for them. A static pod may be what the API server waits
 * for, or the API server itself, so they do not wait until the API server has delivered. It cannot want them: they were
 * static pods too, since in an API server that name is the mirror pod's.
 */
function replacedByStaticPods(table: PodTable): ReadonlySet<PodUid> {
  const replaced = new Set<PodUid>();
  for (const { wanted, worker } of table.all()) {
    if (worker?.waitsFor?.kind !== "name" || wanted === undefined) continue;
    if (isStaticPod(wanted)) replaced.add(worker.waitsFor.uid);
  }
  return replaced;
}

/** Ends pods that run and that neither a source nor a worker knows. */
function endOrphans(deps: HousekeepingDeps, mayEnd: (uid: PodUid) => boolean): void {
  for (const { uid, wanted, worker, observed } of deps.table.all()) {
    const state = observed?.state;
    if (wanted !== undefined || worker !== undefined || state === undefined) continue;
    if (isRuntimeStopped(state) || !mayEnd(uid)) continue;
    deps.faults.attempt("housekeeping", uid, () => {
      const kill = { graceSeconds: 1 };
      deps.workers.updatePod({ updateType: "kill", runningPod: state, kill });
      deps.metrics.increment("kubelet_orphaned_runtime_pods_total");
    });
  }
}

/** Forgets the pods of which nothing is left. */
export function forgetPods(table: PodTable, observed: Pick<ObservedPods, "has">): void {
  for (const pod of table.all()) {
    const { uid, wanted, worker, removal, reading, report } = pod;
    const left = whatIsLeft({
      isWanted: wanted !== undefined,
      workerState: worker?.state.state,
      isInRuntime: observed.has(uid),
      isBeingRead: reading?.running !== undefined,
      isBeingReported: report !== undefined,
      removal: removal?.state,
      hasFiles: hasFiles(pod),
    });
    if (left.length === 0) table.delete(uid);
  }
}
