import { errorText } from "../../lib/error-text.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { SpanLog } from "../execute/span.ts";

type StageName = "objects" | "devices" | "cgroup" | "folders" | "claims" | "volumes" | "probes";

export interface PodToPrepare {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  /** Notes how long each stage takes. */
  readonly spans?: SpanLog | undefined;
}

/** Something that a pod needs before its containers run and gives back after them. */
export interface PodStage {
  readonly name: StageName;
  /** Before every plan of a pod that is to run. Throws a `PodSyncError` with the reason when it cannot, a `PodRejection` when it never will. */
  prepare(request: PodToPrepare, signal: AbortSignal): Promise<void>;
  /** The pod's containers are about to be stopped. */
  stopping?(pod: Pod): void;
  /** The pod's containers have ended, and its status does not say so yet. Repeated until it succeeds; `release` follows. */
  stopped?(pod: Pod): Promise<void>;
  /** The pod's containers have ended. Safe without `prepare`. */
  release?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Nothing of the pod may be left. Safe without `prepare` and `release`, also for a pod of a past agent. */
  remove?(uid: PodUid, signal: AbortSignal): Promise<void>;
  /** UIDs of all pods of which something is on the machine, also of past agents. */
  listFound?(): Promise<readonly PodUid[]>;
}

/** In order; the first that cannot be prepared ends it. */
export async function prepareStages(
  stages: readonly PodStage[],
  request: PodToPrepare,
  signal: AbortSignal,
): Promise<void> {
  for (const stage of stages) {
    const work = stage.prepare(request, signal);
    await (request.spans?.measure(stage.name, work) ?? work);
  }
}

export function noteStopping(stages: readonly PodStage[], pod: Pod): void {
  for (const stage of stages.toReversed()) stage.stopping?.(pod);
}

/** In reverse order, as `releaseStages`. */
export async function noteStopped(stages: readonly PodStage[], pod: Pod): Promise<void> {
  for (const stage of stages.toReversed()) {
    try {
      await stage.stopped?.(pod);
    } catch (error) {
      throw new StageError("release", stage.name, error);
    }
  }
}

/** A stage could not be released or removed; the cause is what it threw. */
export class StageError extends Error {
  constructor(work: "release" | "remove", stage: StageName, cause: unknown) {
    super(`cannot ${work} the pod's ${stage}: ${errorText(cause)}`, { cause });
  }
}

/** In reverse order: what builds on another stage goes before it. Throws a `StageError` at the first that fails. */
export async function releaseStages(
  stages: readonly PodStage[],
  pod: Pod,
  signal: AbortSignal,
): Promise<void> {
  for (const stage of stages.toReversed()) {
    try {
      await stage.release?.(pod, signal);
    } catch (error) {
      throw new StageError("release", stage.name, error);
    }
  }
}

/** In reverse order, as `releaseStages`. */
export async function removeStages(
  stages: readonly PodStage[],
  uid: PodUid,
  signal: AbortSignal,
): Promise<void> {
  for (const stage of stages.toReversed()) {
    try {
      await stage.remove?.(uid, signal);
    } catch (error) {
      throw new StageError("remove", stage.name, error);
    }
  }
}
