import { formatTime } from "../../lib/time.ts";
import type { PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { illegalTransition } from "./illegal-transition.ts";
import { normalizeStatus } from "./normalize-status.ts";
import { isSameStatus } from "./same-status.ts";
import { withTransitionTime } from "./transition-time.ts";

const timedConditions: ReadonlySet<string> = new Set([
  "ContainersReady",
  "Ready",
  "Initialized",
  "PodReadyToStartContainers",
  "PodScheduled",
  "DisruptionTarget",
  "AllContainersRestarting",
]);

export interface NextStatusInput {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly cachedStatus?: PodStatus | undefined;
  /** What was reported of the pod before this agent cached anything. */
  readonly reportedStatus: PodStatus;
  /** Makes a new version even of an equal status. */
  readonly force: boolean;
  readonly nowMs: number;
}

export type NextStatus =
  | { readonly kind: "changed"; readonly status: PodStatus }
  | { readonly kind: "same" }
  | { readonly kind: "refused"; readonly because: string };

/** What a status becomes when it follows the last one, and whether it makes a new version. */
export function nextStatus(input: NextStatusInput): NextStatus {
  const { pod, cachedStatus, nowMs } = input;
  const old = cachedStatus ?? input.reportedStatus;
  const because = illegalTransition(pod, old, input.status);
  if (because !== undefined) return { kind: "refused", because };
  const status = normalizeStatus(pod, {
    ...input.status,
    conditions: timed(input.status.conditions, old.conditions, nowMs),
    startTime: old.startTime ?? input.status.startTime ?? formatTime(nowMs),
    observedGeneration:
      Math.max(old.observedGeneration ?? 0, input.status.observedGeneration ?? 0) || undefined,
  });
  if (cachedStatus !== undefined && !input.force && isSameStatus(cachedStatus, status)) {
    return { kind: "same" };
  }
  return { kind: "changed", status };
}

/** Only the first condition of a type counts. */
function timed(
  conditions: readonly PodCondition[] | undefined,
  old: readonly PodCondition[] | undefined,
  nowMs: number,
): readonly PodCondition[] | undefined {
  return conditions?.map((condition, index) => {
    const isFirst = conditions.findIndex(({ type }) => type === condition.type) === index;
    return isFirst && timedConditions.has(condition.type)
      ? withTransitionTime(condition, old, nowMs)
      : condition;
  });
}
