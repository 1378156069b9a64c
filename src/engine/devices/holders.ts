import { type ContainerRef, staleContainers } from "../../core/devices/topology/container-ref.ts";
import { isPodKnownTerminated } from "../../core/worker/worker-queries.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { ManagedPod, PodTable } from "../pods/pod-table.ts";

export interface HoldersDeps {
  readonly table: PodTable;
  readonly active: Pick<ActivePods, "has">;
  readonly sources: Pick<SourceReadiness, "areAllReady">;
}

/**
 * The pods that hold CPUs, memory and devices. A kubelet takes back what a pod holds that no source wants any more; here its containers
 * keep it as long as they run, so that no other container gets it meanwhile.
 */
export class Holders {
  readonly #deps: HoldersDeps;

  constructor(deps: HoldersDeps) {
    this.#deps = deps;
  }

  /** Before every source has delivered, a pod that is not known may still come. */
  get areKnown(): boolean {
    return this.#deps.sources.areAllReady;
  }

  uids(): Set<PodUid> {
    const all = Array.from(this.#deps.table.all()).filter((pod) => this.#holds(pod));
    return new Set(all.map(({ uid }) => uid));
  }

  /** The pods that hold what they have only until they have ended: no source wants them any more. */
  ending(): readonly PodUid[] {
    return Array.from(this.#deps.table.all())
      .filter((pod) => this.#holds(pod) && !this.#isActive(pod))
      .map(({ uid }) => uid);
  }

  /** Whether what the container holds can be taken back. */
  isStale(ref: ContainerRef): boolean {
    const pod = this.#deps.table.get(podUid(ref.podUid));
    if (pod === undefined || !this.#holds(pod)) return true;
    return this.#isActive(pod) && pod.wanted !== undefined && staleContainers([pod.wanted])(ref);
  }

  #holds(pod: ManagedPod): boolean {
    if (this.#isActive(pod) || mayRun(pod)) return true;
    return pod.worker !== undefined && !isPodKnownTerminated(pod.worker.state);
  }

  #isActive({ uid }: ManagedPod): boolean {
    return this.#deps.active.has(uid);
  }
}

/** A sandbox alone holds nothing: it may be left of an agent that died before it had stopped it. */
function mayRun({ observed }: ManagedPod): boolean {
  if (observed?.unread !== undefined) return true;
  return observed?.state?.containers.some(({ state }) => state === "running") === true;
}
