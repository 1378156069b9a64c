import type { ObservedContainer, ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import {
  leftoverBecause,
  leftoversOf,
  type Standing,
  standingsOf,
} from "../observe/classify-pod.ts";
import type { RemoveContainerStep, StopSandboxStep } from "./step.ts";

/** Ends leftovers. */
export function planLeftovers(observed: ObservedPod): (StopSandboxStep | RemoveContainerStep)[] {
  const { sandboxes, containers } = leftoversOf(observed);
  const because = leftoverBecause;
  return [
    ...sandboxes
      .filter(({ state }) => state === "ready")
      .map(({ id }) => ({ kind: "stop-sandbox" as const, sandboxId: id, because })),
    ...containers.map((container) => ({
      ...removal(container, "leftover", because),
      keepLogs: true,
    })),
  ];
}

/**
 * Removes ended init containers that need not be kept: all but the last run of each, or every one when the pod starts
 * over in a new sandbox. Without this a crash-looping init container would pile up until garbage collection.
 */
export function planPruning(
  pod: Pod,
  observed: ObservedPod,
  startsOver: boolean,
): RemoveContainerStep[] {
  const standings = standingsOf(observed);
  const names = new Set((pod.spec.initContainers ?? []).map(({ name }) => name));
  return [...names].flatMap((name) => {
    const runs = observed.containers.filter((container) => container.name === name);
    const removed = startsOver
      ? runs
      : runs.filter(({ state }) => state === "exited" || state === "unknown").slice(1);
    const because = startsOver
      ? `init container ${name} runs again in the new sandbox`
      : `init container ${name} has run again since`;
    return removed.map((run) => removal(run, standings.get(run.id) ?? "superseded", because));
  });
}

/**
 * Before another instance of a container is created: removes those that may still come to life. Where a create or start
 * lost its answer, or the agent died during it, the runtime may carry it out at any time.
 */
export function planClearing(observed: ObservedPod, name: string): RemoveContainerStep[] {
  const standings = standingsOf(observed);
  return observed.containers
    .filter((one) => one.name === name && (one.state === "created" || one.state === "unknown"))
    .map((one) => ({
      ...removal(
        one,
        standings.get(one.id) ?? "superseded",
        `another instance of container ${name} is about to be created, and this one may still start`,
      ),
      keepLogs: true,
      unlessStarted: true,
    }));
}

function removal(
  { id, name }: ObservedContainer,
  standing: Standing,
  because: string,
): RemoveContainerStep {
  return {
    kind: "remove-container",
    containerId: id,
    name,
    standing,
    keepLogs: false,
    unlessStarted: false,
    because,
  };
}
