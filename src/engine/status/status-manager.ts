import { withContainerReady, withContainerStarted } from "../../core/status/container-change.ts";
import { type NextStatus, nextStatus } from "../../core/status/next-status.ts";
import { terminatedStatus } from "../../core/status/terminated-status.ts";
import { findTerminations, type Termination } from "../../core/status/terminations.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";

/** The pods that the node is to run, as the sources last had them. */
interface KnownPods {
  findByUid(uid: string): Pod | undefined;
  /** The API server's picture of a static pod. */
  findMirrorOf(pod: Pod): Pod | undefined;
}

/** Hears of every new version of a pod's status. `isFinished`: it is the last, nothing of the pod is left. */
type StatusListener = (pod: Pod, status: PodStatus, version: number, isFinished: boolean) => void;

export interface StatusManagerDependencies {
  readonly clock: Pick<Clock, "nowMs">;
  readonly pods: KnownPods;
  readonly onChange: StatusListener;
  /** Hears of every container that a status is the first to show as ended. */
  readonly onTermination?: (termination: Termination) => void;
}

interface CachedStatus {
  readonly status: PodStatus;
  readonly version: number;
  readonly isFinished: boolean;
}

/** Holds the status of every pod as the node last saw it: the truth that is reported to others. */
export class StatusManager {
  readonly #deps: StatusManagerDependencies;
  readonly #cache = new Map<string, CachedStatus>();

  constructor(deps: StatusManagerDependencies) {
    this.#deps = deps;
  }

  getPodStatus(uid: string): PodStatus | undefined {
    return this.#cache.get(uid)?.status;
  }

  setPodStatus(pod: Pod, status: PodStatus): NextStatus {
    const observedGeneration = pod.metadata.generation;
    // A pod that is being deleted needs its news sent even where they are none.
    const force = pod.metadata.deletionTimestamp !== undefined;
    return this.#update(pod, { ...status, observedGeneration }, { force, isFinished: false });
  }

  /** Takes a probe's result in. Without effect before the pod's first status, or for another container. */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void {
    this.#change(uid, (pod, status) => withContainerReady(pod, status, containerId, ready));
  }

  /** Takes a startup probe's result in, as setContainerReadiness does. */
  setContainerStartup(uid: string, containerId: string, started: boolean): void {
    this.#change(uid, (_pod, status) => withContainerStarted(status, containerId, started));
  }

  /** Makes the pod's status its last one: every container ended, the phase terminal. */
  terminatePod(pod: Pod): NextStatus {
    const status = terminatedStatus(pod, this.getPodStatus(pod.metadata.uid) ?? pod.status ?? {});
    return this.#update(pod, status, { force: true, isFinished: true });
  }

  forget(uid: string): void {
    this.#cache.delete(uid);
  }

  /** Forgets all pods but these. */
  removeOrphanedStatuses(uids: ReadonlySet<string>): void {
    for (const uid of this.#cache.keys()) if (!uids.has(uid)) this.#cache.delete(uid);
  }

  #change(uid: string, change: (pod: Pod, status: PodStatus) => PodStatus | undefined): void {
    const pod = this.#deps.pods.findByUid(uid);
    const cached = this.#cache.get(uid);
    if (pod === undefined || cached === undefined) return;
    const status = change(pod, cached.status);
    if (status !== undefined) this.#update(pod, status, { force: false, isFinished: false });
  }

  #update(
    pod: Pod,
    status: PodStatus,
    { force, isFinished }: { readonly force: boolean; readonly isFinished: boolean },
  ): NextStatus {
    const { clock, onChange, onTermination } = this.#deps;
    const cached = this.#cache.get(pod.metadata.uid);
    const reportedStatus = this.#reported(pod);
    const next = nextStatus({
      pod,
      status,
      cachedStatus: cached?.status,
      reportedStatus,
      force,
      nowMs: clock.nowMs(),
    });
    if (next.kind !== "changed") return next;
    const entry = {
      status: next.status,
      version: (cached?.version ?? 0) + 1,
      isFinished: isFinished || (cached?.isFinished === true && !isStaticPod(pod)),
    };
    this.#cache.set(pod.metadata.uid, entry);
    for (const each of findTerminations(cached?.status ?? reportedStatus, entry.status)) {
      onTermination?.(each);
    }
    onChange(pod, entry.status, entry.version, entry.isFinished);
    return next;
  }

  /** What was told of the pod before; a static pod's picture may be there and have been told nothing yet. */
  #reported(pod: Pod): PodStatus {
    const { status: pictured } = this.#deps.pods.findMirrorOf(pod) ?? {};
    return (pictured?.startTime === undefined ? pod.status : pictured) ?? {};
  }
}
