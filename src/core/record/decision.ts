import type { PlanPodInput } from "../pod/plan-input.ts";
import { planPod } from "../pod/plan-pod.ts";
import type { PodPlan } from "../pod/step.ts";
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
    };

export const decisionKinds: readonly Decision["kind"][] = ["plan", "status"];

/** What is decided from the same input now. */
export function decideAgain(decision: Decision): Decision["outcome"] {
  switch (decision.kind) {
    case "plan":
      return planPod(decision.input);
    case "status":
      return computePodStatus(decision.input);
    default:
      return decision satisfies never;
  }
}
