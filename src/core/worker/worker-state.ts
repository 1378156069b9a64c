import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodKillReason } from "../status/killed-status.ts";
import type { PodSubject, PodUpdateType, SpecifiedPod } from "./pod-update.ts";

/** The newest update that no call has seen yet; a newer one replaces it. */
export type PendingUpdate<Subject = PodSubject> = Subject & {
  readonly updateType: PodUpdateType;
  readonly mirrorPod?: Pod | undefined;
  readonly graceSeconds?: number | undefined;
  readonly requestedAtMs?: number | undefined;
};

/** The last update that was acted on, kept to act again without a newer one. */
export type ActiveUpdate<Subject = PodSubject> = Subject & {
  readonly mirrorPod?: Pod | undefined;
  readonly graceSeconds?: number | undefined;
};

/** What is remembered of a pod from the moment its end was asked for. */
interface Ending {
  readonly fullName: string;
  /** Marked for deletion in its source, or gone from it. */
  readonly deleted: boolean;
  readonly evicted: boolean;
  /** A pod with the same UID was created meanwhile: forget this one when it has ended. */
  readonly restartRequested: boolean;
  readonly active?: ActiveUpdate | undefined;
}

interface EndingWork extends Ending {
  /** Whether the worker was ever allowed to act on the pod's spec. */
  readonly started: boolean;
  /** Seen in the runtime, so it must be stopped even though it was never started here. */
  readonly observedRuntime: boolean;
  readonly pending?: PendingUpdate | undefined;
}

export interface WaitToStart {
  readonly state: "wait-to-start";
  readonly fullName: string;
  readonly pending: PendingUpdate<SpecifiedPod>;
}

export interface Syncing {
  readonly state: "syncing";
  readonly fullName: string;
  readonly active: ActiveUpdate<SpecifiedPod>;
  readonly pending?: PendingUpdate<SpecifiedPod> | undefined;
}

export interface Terminating extends EndingWork {
  readonly state: "terminating";
  /** The worker has seen the request: from here on no container is started. */
  readonly acknowledged: boolean;
  /** The grace period decided so far, which can only shrink; 0 = none decided. */
  readonly graceSeconds: number;
  /** The kills with waiters. */
  readonly kills: readonly number[];
  readonly reason?: PodKillReason | undefined;
}

export interface Terminated extends EndingWork {
  readonly state: "terminated";
}

export interface Finished extends Ending {
  readonly state: "finished";
  /** False for a pod that ended before it could start: its containers were never stopped. */
  readonly acknowledged: boolean;
}

/**
 * The life of one pod's worker. It never goes back:
 *
 *   wait-to-start ──→ syncing ──→ terminating ──→ terminated ──→ finished
 *         └───────────────────────────┴──(never started)────────────┘
 */
export type WorkerState = WaitToStart | Syncing | Terminating | Terminated | Finished;

/** One call to make for a pod. */
export type PodWork =
  | {
      readonly kind: "sync";
      readonly updateType: PodUpdateType;
      readonly pod: Pod;
      readonly mirrorPod: Pod | undefined;
      readonly requestedAtMs: number | undefined;
    }
  | {
      readonly kind: "terminate";
      readonly updateType: PodUpdateType;
      readonly pod: Pod;
      readonly graceSeconds: number | undefined;
      readonly requestedAtMs: number | undefined;
    }
  | {
      readonly kind: "terminate-runtime";
      readonly updateType: PodUpdateType;
      readonly runningPod: ObservedPod;
      readonly requestedAtMs: number | undefined;
    }
  | {
      readonly kind: "clean-up";
      readonly pod: Pod;
      readonly requestedAtMs: number | undefined;
    };

/** How one call ended. */
export type PodWorkOutcome =
  | { readonly kind: "done"; readonly terminal: boolean }
  | { readonly kind: "cancelled" }
  | { readonly kind: "failed"; readonly message: string; readonly retryAtMs?: number | undefined };
