// The vectors show a time that upstream set to "now" as a fixed time, and list its path.
import { formatTime } from "../../src/lib/time.ts";
import type { PodStatus } from "../../src/model/generated/kubernetes.ts";

const shownNow = "2026-05-04T10:00:00Z";

/** A moment later than any of a vector's own times; each step has its own. */
export function stepNowMs(step: number): number {
  return Date.UTC(2099, 0, 1) + step * 1000;
}

/** The paths of the times that were set in that step. */
export function setToNow(status: PodStatus | undefined, step: number): string[] {
  const now = formatTime(stepNowMs(step));
  return [
    ...(status?.conditions ?? [])
      .filter(({ lastTransitionTime }) => lastTransitionTime === now)
      .map(({ type }) => `conditions.${type}.lastTransitionTime`),
    ...(status?.startTime === now ? ["startTime"] : []),
  ];
}

/** The status with the moments of all steps shown as the fixed time. */
export function shownStatus(status: PodStatus | undefined): PodStatus | undefined {
  return (
    status && {
      ...status,
      startTime: shown(status.startTime),
      conditions: status.conditions?.map((condition) => ({
        ...condition,
        lastTransitionTime: shown(condition.lastTransitionTime),
      })),
    }
  );
}

function shown(time: string | undefined): string | undefined {
  return time?.startsWith("2099-") === true ? shownNow : time;
}
