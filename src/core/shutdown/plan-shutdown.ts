import type { Pod } from "../../model/pod.ts";

/** How long pods of a priority, and of those up to the next one, have to end. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly graceSeconds: number;
}

export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly Pod[];
}

const systemCriticalPriority = 2_000_000_000;

/** The periods as configured, the lowest priority first; empty when a shutdown waits for nothing. */
export function shutdownPeriods(settings: {
  readonly graceMs: number;
  /** The part of it that is kept for critical pods. */
  readonly criticalGraceMs: number;
  readonly byPriority: readonly ShutdownPeriod[];
}): readonly ShutdownPeriod[] {
  const { graceMs, criticalGraceMs, byPriority } = settings;
  if (byPriority.length > 0) return byPriority.toSorted((a, b) => a.priority - b.priority);
  if (graceMs === 0 || criticalGraceMs > graceMs || criticalGraceMs < 0) return [];
  return [
    { priority: 0, graceSeconds: Math.trunc((graceMs - criticalGraceMs) / 1000) },
    { priority: systemCriticalPriority, graceSeconds: Math.trunc(criticalGraceMs / 1000) },
  ];
}

/** How long a shutdown has to wait at most. */
export function longestShutdownMs(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { graceSeconds }) => sum + graceSeconds, 0) * 1000;
}

/** Who ends when: one group after the other, the lowest priority first. */
export function planShutdown(
  periods: readonly ShutdownPeriod[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  return periods
    .map((period, index) => ({
      ...period,
      pods: pods.filter((pod) => groupOf(periods, pod.spec.priority ?? 0) === index),
    }))
    .filter((group) => group.pods.length > 0);
}

/** The last period that the priority reaches; one below all of them is in the first. */
function groupOf(periods: readonly ShutdownPeriod[], priority: number): number {
  return Math.max(
    periods.findLastIndex((period) => period.priority <= priority),
    0,
  );
}

/** A pod that wants less time than its group has gets what it wants. */
export function shutdownGraceSeconds(pod: Pod, group: ShutdownPeriod): number {
  const own = pod.spec.terminationGracePeriodSeconds;
  return own !== undefined && own <= group.graceSeconds ? own : group.graceSeconds;
}
