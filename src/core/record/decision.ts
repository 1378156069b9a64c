import type { BackoffLimits } from "../../lib/backoff.ts";
import type { PlanPodInput } from "../pod/plan-input.ts";
import { planPod } from "../pod/plan-pod.ts";
import type { PodPlan } from "../pod/step.ts";
import {
  type RestartAttempt,
  type RestartBackoff,
  type RestartHistory,
  restartBackoff,
} from "../restart/crash-loop-backoff.ts";
import {
  type ComputedPodStatus,
  computePodStatus,
  type PodStatusInput,
} from "../status/pod-status.ts";

/** One answer of a pure function, with everything it was given: it can be asked again, anywhere. */
export type Decision =
  | {
      readonly kind: "plan";
      readonly atMs: number;
      readonly input: PlanPodInput;
      readonly outcome: PodPlan;
    }
  | {
      readonly kind: "status";
      readonly atMs: number;
      readonly input: PodStatusInput;
      readonly outcome: ComputedPodStatus;
    }
  /** Whether a container of a plan may start yet. */
  | {
      readonly kind: "restart";
      readonly atMs: number;
      readonly input: RestartAttempt & {
        readonly history: RestartHistory;
        readonly limits: BackoffLimits;
      };
      readonly outcome: RestartBackoff;
    };

export const decisionKinds: readonly Decision["kind"][] = ["plan", "status", "restart"];

/** What was decided about a pod, for people. */
export function decisionSubject(decision: Decision): string {
  return decision.kind === "restart"
    ? `restart of container ${decision.input.container.name}`
    : decision.kind;
}

/** What is decided from the same input now. */
export function decideAgain(decision: Decision): Decision["outcome"] {
  switch (decision.kind) {
    case "plan":
      return planPod(decision.input);
    case "status":
      return computePodStatus(decision.input);
    case "restart":
      return restartBackoff(decision.input.history, decision.input, decision.input.limits);
    default:
      return decision satisfies never;
  }
}
