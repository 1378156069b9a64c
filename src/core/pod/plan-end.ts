import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { standingsOf } from "../observe/classify-pod.ts";
import { planLeftovers } from "./plan-removals.ts";
import type { Step } from "./step.ts";

export interface EndPlan {
  readonly steps: readonly Step[];
}

export interface PlanTerminationInput {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  /** Absent = as the pod's spec says. */
  readonly graceSeconds?: number | undefined;
  /** A source still has the pod; if none has, only the runtime knows it. */
  readonly isWanted: boolean;
}

/** Stops everything of a pod that must end, leftovers included. */
export function planTermination({
  observed,
  graceSeconds,
  isWanted,
}: PlanTerminationInput): EndPlan {
  const why = isWanted ? "the pod is ending" : "no source wants this pod";
  const because = graceSeconds === undefined ? why : `${why}, with ${graceSeconds} s of grace`;
  return {
    steps: [
      { kind: "kill-pod", startsOver: false, replaces: [], graceSeconds, because },
      ...planLeftovers(observed),
    ],
  };
}

export interface PlanRemovalInput {
  readonly observed: ObservedPod;
}

/** Removes everything of a pod that has ended and that no source wants. */
export function planRemoval({ observed }: PlanRemovalInput): EndPlan {
  const standings = standingsOf(observed);
  const because = "the pod has ended and no source wants it";
  return {
    steps: [
      ...observed.containers.map(({ id, name }) => ({
        kind: "remove-container" as const,
        containerId: id,
        name,
        standing: standings.get(id) ?? "superseded",
        keepLogs: false,
        unlessStarted: false,
        because,
      })),
      ...observed.sandboxes.flatMap(({ id }) => [
        { kind: "stop-sandbox" as const, sandboxId: id, because },
        { kind: "remove-sandbox" as const, sandboxId: id, because },
      ]),
    ],
  };
}
