import { formatTime } from "../../lib/time.ts";
import type { PodCondition } from "../../model/generated/kubernetes.ts";
import { findCondition } from "./condition-list.ts";

/** The condition with the time since which it has its status: that of `old`, or now. */
export function withTransitionTime(
  condition: PodCondition,
  old: readonly PodCondition[] | undefined,
  nowMs: number,
): PodCondition {
  const before = findCondition(old, condition.type);
  const lastTransitionTime =
    before?.status === condition.status ? before.lastTransitionTime : formatTime(nowMs);
  return { ...condition, lastTransitionTime };
}
