import type { ObservedPod } from "../../model/observed.ts";
import {
  type EndPlan,
  type PlanRemovalInput,
  type PlanTerminationInput,
  planRemoval,
  planTermination,
} from "../pod/plan-end.ts";
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
    }
  | {
      readonly kind: "termination";
      readonly atMs: number;
      readonly input: PlanTerminationInput;
      readonly outcome: EndPlan;
    }
  | {
      readonly kind: "removal";
      readonly atMs: number;
      readonly input: PlanRemovalInput;
      readonly outcome: EndPlan;
    };

export const decisionKinds: readonly Decision["kind"][] = [
  "plan",
  "status",
  "termination",
  "removal",
];

/** The pod that was decided about. */
export function decisionPod({ input }: Decision): Pick<ObservedPod, "uid" | "name" | "namespace"> {
  return "pod" in input ? input.pod.metadata : input.observed;
}

/** What is decided from the same input now. */
export function decideAgain(decision: Decision): Decision["outcome"] {
  switch (decision.kind) {
    case "plan":
      return planPod(decision.input);
    case "status":
      return computePodStatus(decision.input);
    case "termination":
      return planTermination(decision.input);
    case "removal":
      return planRemoval(decision.input);
    default:
      return decision satisfies never;
  }
}
