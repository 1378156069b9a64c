import { withAllocation } from "../../core/allocation/pod-allocation.ts";
import { podLimits, podRequests } from "../../core/resource/pod-resources.ts";
import { podQosClass } from "../../core/resource/qos.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import { isPodKnownTerminated } from "../../core/worker/worker-queries.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Faults } from "../agent/faults.ts";
import type { ManagedPod, PodTable } from "./pod-table.ts";

/** The pods that run or are to run: they count for what the node has left. */
export class ActivePods {
  readonly #table: PodTable;
  readonly #faults: Pick<Faults, "attempt">;
  /** Specs that can be counted: nothing of them throws. */
  readonly #countable = new WeakSet<Pod["spec"]>();

  constructor(table: PodTable, faults: Pick<Faults, "attempt">) {
    this.#table = table;
    this.#faults = faults;
  }

  has(uid: PodUid): boolean {
    const pod = this.#table.get(uid);
    return pod !== undefined && isActive(pod);
  }

  /** Those that hold or will hold resources, which are promised to no other pod, each with its newest status. */
  list(): readonly Pod[] {
    const active: Pod[] = [];
    for (const pod of this.#table.all()) {
      const { wanted, status, admission } = pod;
      if (wanted === undefined || admission?.roomFor !== undefined) continue;
      if (!isActive(pod) || !this.#isCountable(wanted)) continue;
      active.push({ ...wanted, status: status?.current ?? wanted.status });
    }
    return active;
  }

  /** The same with the resources that they were granted, which may differ from those that they ask for now. */
  listGranted(): readonly Pod[] {
    return this.list().map((pod) => {
      const { uid } = pod.metadata;
      const { allocated } = this.#table.get(uid) ?? {};
      return this.#faults.attempt("resize", uid, () => withAllocation(pod, allocated)) ?? pod;
    });
  }

  /** A pod whose spec throws when it is counted takes nothing from others; it is not admitted itself. */
  #isCountable(pod: Pod): boolean {
    if (this.#countable.has(pod.spec)) return true;
    const facts = this.#faults.attempt("admission", pod.metadata.uid, () => [
      podRequests(pod),
      podLimits(pod),
      podQosClass(pod),
      pod.spec.priority,
    ]);
    if (facts !== undefined) this.#countable.add(pod.spec);
    return facts !== undefined;
  }
}

function isActive({ wanted, worker, status, unfit }: ManagedPod): boolean {
  if (wanted === undefined || unfit === wanted) return false;
  if (worker !== undefined) return !isPodKnownTerminated(worker.state);
  return !isTerminalPhase((status?.current ?? wanted.status)?.phase);
}
