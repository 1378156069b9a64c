import type { PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodKillReason } from "../status/killed-status.ts";

export type PodUpdateType = "create" | "update" | "sync" | "kill";

export interface KillPodOptions {
  /** The waiters for this kill are notified of this number when it is done, or at once if nothing is left to kill. */
  readonly request?: number | undefined;
  /** An evicted pod's data is removed as soon as possible, not only when the pod is deleted. */
  readonly evict?: boolean | undefined;
  /** The newest one of all kills wins. */
  readonly reason?: PodKillReason | undefined;
  readonly graceSeconds?: number | undefined;
}

/** A pod with its spec. */
export interface SpecifiedPod {
  readonly pod: Pod;
  readonly runningPod?: undefined;
}

/** A pod that only the runtime knows, which can do nothing but end. */
interface RuntimePod {
  readonly pod?: undefined;
  readonly runningPod: ObservedPod;
}

export type PodSubject = SpecifiedPod | RuntimePod;

/** A request to one pod's worker. */
export type PodUpdate = PodSubject & {
  readonly updateType: PodUpdateType;
  /** The mirror pod of a static pod, if there is one. */
  readonly mirrorPod?: Pod | undefined;
  readonly kill?: KillPodOptions | undefined;
  /** When the update arose, on the monotonic clock; measures how fast workers react. */
  readonly requestedAtMs?: number | undefined;
};

export function subjectUid(subject: PodSubject): PodUid {
  return subject.pod === undefined ? subject.runningPod.uid : subject.pod.metadata.uid;
}
