import type { Pod } from "../../model/pod.ts";
import { findCondition } from "./condition-list.ts";
import { readyCondition } from "./conditions.ts";

/** Whether a readiness gate was opened or closed, and the pod's Ready condition does not show that yet. */
export function hasOutdatedReadiness(pod: Pod): boolean {
  if ((pod.spec.readinessGates ?? []).length === 0) return false;
  const { conditions = [], containerStatuses, phase } = pod.status ?? {};
  const shown = findCondition(conditions, "Ready");
  if (shown === undefined) return false;
  const due = readyCondition(pod, conditions, containerStatuses, phase);
  return shown.status !== due.status || (shown.message ?? "") !== (due.message ?? "");
}
