import type { PlanPodInput } from "../../src/core/pod/plan-input.ts";
import { crashLoopLimits } from "../../src/core/restart/crash-loop-backoff.ts";

/** What a plan is decided from where no container waits for a back-off and the pod's cgroup is there. */
export const plainPlanFacts: Pick<PlanPodInput, "nowMs" | "restarts" | "runsOutsideCgroup"> = {
  nowMs: 0,
  restarts: { history: new Map(), limits: crashLoopLimits },
  runsOutsideCgroup: false,
};
