import type { PodKillReason } from "../../core/status/killed-status.ts";
import type { PodUpdateType } from "../../core/worker/pod-update.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";

/**
 * How a call reports to its worker what it has done to the runtime, once it will do no more: what is read from then on
 * shows all of it. A call that reports nothing counts as having changed something until it ended.
 */
export interface RuntimeProgress {
  readonly changed: () => void;
  readonly unchanged: () => void;
}

export interface SyncPodRequest {
  readonly updateType: PodUpdateType;
  readonly pod: Pod;
  readonly mirrorPod: Pod | undefined;
  readonly observed: ObservedPod;
  readonly progress: RuntimeProgress;
}

export interface SyncTerminatingPodRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  /** Absent = as the pod's spec says. */
  readonly graceSeconds: number | undefined;
  /** Absent = its source wants it to end, or it ran to its end. */
  readonly killReason: PodKillReason | undefined;
  readonly progress: RuntimeProgress;
}

export interface SyncTerminatedPodRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
}

/**
 * What a pod worker calls, one call at a time per pod UID. Every call is repeated until it resolves, and must
 * end soon after `signal` aborts, which means that a newer update waits.
 */
export interface PodSyncer {
  /** Brings the pod closer to its spec. `terminal`: it ran to its end by itself. */
  syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<{ readonly terminal: boolean }>;
  /** Resolves only when no container of the pod runs. */
  syncTerminatingPod(request: SyncTerminatingPodRequest, signal: AbortSignal): Promise<void>;
  /** Resolves only when no container of a pod without a spec runs. */
  syncTerminatingRuntimePod(runningPod: ObservedPod, signal: AbortSignal): Promise<void>;
  /** Releases what must be released at once after the last container stopped. */
  syncTerminatedPod(request: SyncTerminatedPodRequest, signal: AbortSignal): Promise<void>;
}

/** The node cannot run the pod after all: the pod has failed. */
export class PodRejection extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = "PodRejection";
    this.reason = reason;
  }
}

/** A failed sync that knows when the earliest of its back-offs ends. */
export class PodSyncError extends Error {
  /** On the wall clock; absent = retry after the usual time. */
  readonly retryAtMs: number | undefined;

  constructor(message: string, retryAtMs?: number, options?: ErrorOptions) {
    super(message, options);
    this.name = "PodSyncError";
    this.retryAtMs = retryAtMs;
  }
}
