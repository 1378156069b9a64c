import { whatIsLeft } from "../../core/pod/pod-leftovers.ts";
import { isRuntimeStopped } from "../../core/worker/runtime-stopped.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Faults } from "../agent/faults.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import { isInRuntime } from "../observe/observed-pods.ts";
import { hasFiles } from "../pods/pod-memory.ts";
import type { PodRemains } from "../pods/pod-remains.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { mayHaveMounts } from "../volumes/volume-states.ts";
import type { NextLives } from "./next-lives.ts";

export interface HousekeepingDeps {
  readonly table: PodTable;
  readonly sources: SourceReadiness;
  readonly workers: Pick<PodWorkers, "syncKnownPods" | "updatePod">;
  readonly nextLives: Pick<NextLives, "forgetLast" | "begin">;
  readonly statuses: Pick<PodStatuses, "endLife" | "writeAgain">;
  readonly allocations: Pick<PodAllocations, "writeAgain">;
  readonly remains: Pick<PodRemains, "removeAllBut">;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "lookAtMirrors"> | undefined;
  readonly faults: Pick<Faults, "attempt">;
  readonly metrics: Pick<Metrics, "increment">;
}

/** Brings the agent's memory and the machine in line with what is wanted, and forgets pods of which nothing is left. */
export class Housekeeping {
  readonly #deps: HousekeepingDeps;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { sources, table, allocations, statuses, cluster } = this.#deps;
    await tidyPods(this.#deps);
    await allocations.writeAgain();
    if (!sources.areAllReady) return;
    cluster?.lookAtMirrors();
    statuses.writeAgain();
    forgetPods(table);
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
  const { table, nextLives, workers, remains, statuses } = deps;
  const wanted = wantedPods(table);
  const hadWorker = wanted.filter(({ metadata }) => hasWorker(table, metadata.uid));
  workers.syncKnownPods(new Set(wanted.map(({ metadata }) => metadata.uid)));
  for (const pod of hadWorker.filter(isStaticPod)) {
    if (!hasWorker(table, pod.metadata.uid)) nextLives.forgetLast(pod);
  }
  for (const pod of wantedPods(table)) {
    const { uid } = pod.metadata;
    if (hasWorker(table, uid) || table.get(uid)?.removal?.state === "running") continue;
    deps.faults.attempt("housekeeping", uid, () => nextLives.begin(pod));
  }
  endOrphans(deps, () => true);
  const kept = new Set<PodUid>();
  for (const { uid, wanted, worker, observed } of table.all()) {
    const mayRun = observed?.unread !== undefined;
    if (wanted !== undefined || worker !== undefined || mayRun) kept.add(uid);
  }
  for (const { uid, removal } of table.all()) {
    // Before its removal begins, and again only should that have failed.
    const isBegun = removal?.state === "running" || removal?.state === "done";
    if (!kept.has(uid) && !isBegun) statuses.endLife(uid);
  }
  await remains.removeAllBut(kept);
}

function wantedPods(table: PodTable): readonly Pod[] {
  return [...table.all()].flatMap(({ wanted }) => wanted ?? []);
}

function hasWorker(table: PodTable, uid: PodUid): boolean {
  return table.get(uid)?.worker !== undefined;
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
export function forgetPods(table: PodTable): void {
  for (const pod of table.all()) {
    const { uid, wanted, worker, observed, removal, reading, report } = pod;
    const left = whatIsLeft({
      isWanted: wanted !== undefined,
      workerState: worker?.state.state,
      isInRuntime: isInRuntime(observed),
      isBeingRead: reading?.running !== undefined,
      isBeingReported: report !== undefined,
      removal: removal?.state,
      hasFiles: hasFiles(pod),
      mayHaveMounts: mayHaveMounts(pod.storage),
    });
    if (left.length === 0) table.delete(uid);
  }
}
