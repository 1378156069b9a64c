import { formatTime } from "../../lib/time.ts";
import type { PodCondition } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";

/** Why a resize stands where it does; the reason is empty while nothing went wrong. */
export interface ResizeCondition {
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly probedAtMs: number;
  /** When the reason became what it is. */
  readonly changedAtMs: number;
}

/** A pod's resizes: one that waits to be granted, and one that was granted and is carried out. */
export interface ResizeConditions {
  readonly pending?: ResizeCondition | undefined;
  readonly inProgress?: ResizeCondition | undefined;
}

export const noResize: ResizeConditions = {};

interface Said {
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

/** Whatever keeps a resize from being granted now, other than that it never can be, defers it. */
export function setPending(
  before: ResizeConditions,
  { reason, message, observedGeneration }: Said,
  nowMs: number,
): ResizeConditions {
  const kept = reason === "Infeasible" ? reason : "Deferred";
  const said = { reason: kept, message, observedGeneration };
  return { ...before, pending: condition(before.pending, said, nowMs) };
}

/** An error stays until the condition is cleared, and so does the generation. */
export function setInProgress(
  before: ResizeConditions,
  { reason, message, observedGeneration }: Said,
  nowMs: number,
): ResizeConditions {
  const { inProgress } = before;
  const keeps = inProgress !== undefined && reason === "" && message === "";
  const said = {
    reason: keeps ? inProgress.reason : reason,
    message: keeps ? inProgress.message : message,
    observedGeneration: inProgress?.observedGeneration ?? observedGeneration,
  };
  return { ...before, inProgress: condition(inProgress, said, nowMs) };
}

/** Whether two conditions say the same, whenever they were said. */
export function saysTheSame(a: ResizeCondition | undefined, b: ResizeCondition): boolean {
  return (
    a !== undefined &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration
  );
}

/** What the status of a pod that was left by an earlier agent says about its resizes. */
export function reportedResizes({ status }: Pod, nowMs: number): ResizeConditions {
  const reported = (type: string): ResizeCondition | undefined => {
    const found = status?.conditions?.findLast((other) => other.type === type);
    if (found === undefined) return undefined;
    const { reason = "", message = "", observedGeneration = 0 } = found;
    return condition(undefined, { reason, message, observedGeneration }, nowMs);
  };
  return { pending: reported("PodResizePending"), inProgress: reported("PodResizeInProgress") };
}

/** As the status of the pod shows them. */
export function resizePodConditions({ pending, inProgress }: ResizeConditions): PodCondition[] {
  return [
    ...(pending === undefined ? [] : [podCondition("PodResizePending", pending)]),
    ...(inProgress === undefined ? [] : [podCondition("PodResizeInProgress", inProgress)]),
  ];
}

function podCondition(type: string, resize: ResizeCondition): PodCondition {
  const { reason, message, observedGeneration } = resize;
  return {
    type,
    status: "True",
    lastProbeTime: formatTime(resize.probedAtMs),
    lastTransitionTime: formatTime(resize.changedAtMs),
    reason: reason === "" ? undefined : reason,
    message: message === "" ? undefined : message,
    observedGeneration: observedGeneration === 0 ? undefined : observedGeneration,
  };
}

function condition(
  before: ResizeCondition | undefined,
  said: Said,
  nowMs: number,
): ResizeCondition {
  const isSame = before !== undefined && before.reason === said.reason;
  return { ...said, probedAtMs: nowMs, changedAtMs: isSame ? before.changedAtMs : nowMs };
}
