import type { AnyContainer } from "../../model/pod.ts";
import type { ContainerDecision } from "./container-decision.ts";
import { podLevelResources, sameResources } from "./container-resources.ts";
import type { PlanPodInput } from "./plan-input.ts";
import { type InPlaceResize, startsResized } from "./resize-decision.ts";
import type { ResizeStep, ResizeUpdate } from "./step.ts";

/** What was decided about the containers. */
interface Decided {
  readonly init: readonly ContainerDecision[];
  /** Undefined while the pod initializes. */
  readonly regular: readonly ContainerDecision[] | undefined;
}

/** One step for all resizes of the pod; undefined when nothing changes. */
export function planResize(input: PlanPodInput, decided: Decided): ResizeStep | undefined {
  const inPlace = [...decided.init.toReversed(), ...(decided.regular ?? [])]
    .map(({ resize }) => resize)
    .filter((resize) => resize !== undefined);
  const podLevel = decided.regular !== undefined && podLevelResourcesChanged(input);
  const starts = whyPodGrows(input, decided, podLevel);
  const because = [
    ...inPlace.map((resize) => resize.because),
    ...starts,
    ...(podLevel ? ["the resources of the pod itself changed"] : []),
  ];
  if (because.length === 0) return undefined;
  return {
    kind: "resize",
    updates: { cpu: inSafeOrder(inPlace, "cpu"), memory: inSafeOrder(inPlace, "memory") },
    updatePodResources: starts.length > 0,
    updatePodLevelResources: podLevel,
    because: because.join("; "),
  };
}

function podLevelResourcesChanged({ pod, actuatedResources }: PlanPodInput): boolean {
  return !sameResources(
    podLevelResources(pod.spec.resources),
    podLevelResources(actuatedResources.pod),
  );
}

/** Sentences about containers that get new resources by being started, for which the pod needs room. */
function whyPodGrows(
  input: PlanPodInput,
  { init, regular = [] }: Decided,
  podLevel: boolean,
): string[] {
  const { initContainers = [], containers } = input.pod.spec;
  const ofInit = whyRestarted(init);
  if (ofInit.length === 0) ofInit.push(...whyResizedStart(input, initContainers, init));
  const found = [...ofInit, ...whyRestarted(regular)];
  // New resources of the pod itself make room for what starts.
  if (found.length > 0 || podLevel) return found;
  return whyResizedStart(input, containers, regular);
}

function whyRestarted(decisions: readonly ContainerDecision[]): string[] {
  return decisions
    .map(({ restartToResize }) => restartToResize)
    .filter((because) => because !== undefined);
}

function whyResizedStart(
  input: PlanPodInput,
  containers: readonly AnyContainer[],
  decisions: readonly ContainerDecision[],
): string[] {
  for (const { start } of decisions) {
    const container = start === undefined ? undefined : containers[start.index];
    if (container !== undefined && startsResized(input, container)) {
      return [`container ${container.name} starts with other resources than it had`];
    }
  }
  return [];
}

/** Decreases come first, so that the containers together never exceed what the pod has. */
function inSafeOrder(
  resizes: readonly InPlaceResize[],
  resource: "cpu" | "memory",
): ResizeUpdate[] {
  const moving = (direction: "up" | "down") =>
    resizes.filter((resize) => resize[resource] === direction).map(({ update }) => update);
  return [...moving("down").toReversed(), ...moving("up")];
}
