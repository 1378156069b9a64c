import type { Pod } from "../../model/pod.ts";

export interface GracePeriod {
  readonly graceSeconds: number;
  /** Whether an earlier decision was changed. */
  readonly changed: boolean;
}

/**
 * How long a pod may take to end. `decidedSeconds` is what was decided before (0 = nothing yet) and can only
 * shrink: by the API server's deletion or by a kill. Never less than one second.
 */
export function decideGracePeriod(
  decidedSeconds: number,
  pod: Pod | undefined,
  overrideSeconds: number | undefined,
): GracePeriod {
  let graceSeconds = decidedSeconds;
  let overridden = false;
  for (const wanted of [pod?.metadata.deletionGracePeriodSeconds, overrideSeconds]) {
    if (wanted === undefined || (graceSeconds !== 0 && wanted >= graceSeconds)) continue;
    graceSeconds = wanted;
    overridden = true;
  }
  if (!overridden && graceSeconds === 0) {
    graceSeconds = pod?.spec.terminationGracePeriodSeconds ?? 0;
  }
  graceSeconds = Math.max(graceSeconds, 1);
  return { graceSeconds, changed: decidedSeconds !== 0 && decidedSeconds !== graceSeconds };
}
