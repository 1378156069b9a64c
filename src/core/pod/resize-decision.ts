import type { ObservedContainer } from "../../model/observed.ts";
import type { AnyContainer } from "../../model/pod.ts";
import { containerResources, sameResources } from "./container-resources.ts";
import type { PlanPodInput } from "./plan-input.ts";
import type { ResizeResources, ResizeUpdate } from "./step.ts";

type ResourceName = "cpu" | "memory";

/** What a running container needs so that its resources become those of its spec. */
export type ResizeDecision =
  | { readonly kind: "none" }
  | ({ readonly kind: "in-place" } & InPlaceResize)
  | { readonly kind: "restart"; readonly because: string };

export interface InPlaceResize {
  readonly update: ResizeUpdate;
  /** How each resource moves; absent = it stays. */
  readonly cpu?: "up" | "down" | undefined;
  readonly memory?: "up" | "down" | undefined;
  readonly because: string;
}

/** Compares what a running container has with what it asks for. */
export function decideResize(
  input: PlanPodInput,
  container: AnyContainer,
  seen: ObservedContainer,
): ResizeDecision {
  const { desired, current } = desiredAndCurrent(input, container);
  if (sameResources(desired, current)) return { kind: "none" };
  const cpu = movement(desired, current, ["cpuLimit", "cpuRequest"]);
  const memory = movement(desired, current, ["memoryLimit", "memoryRequest"]);
  const because = `container ${container.name} asks for ${differences(desired, current)}`;
  const needsRestart =
    (cpu !== undefined && restartsToResize(container, "cpu")) ||
    (memory !== undefined && restartsToResize(container, "memory"));
  if (needsRestart) {
    return { kind: "restart", because: `${because}, and its resizePolicy is RestartContainer` };
  }
  const update = { name: container.name, containerId: seen.id, desired, current };
  return { kind: "in-place", update, cpu, memory, because };
}

/** Whether a container that starts gets other resources than were last applied for it. */
export function startsResized(input: PlanPodInput, container: AnyContainer): boolean {
  const { desired, current } = desiredAndCurrent(input, container);
  return !sameResources(desired, current);
}

function desiredAndCurrent(
  { pod, actuatedResources }: PlanPodInput,
  container: AnyContainer,
): { readonly desired: ResizeResources; readonly current: ResizeResources } {
  const actuated = actuatedResources.containers.get(container.name);
  return {
    desired: containerResources(container.resources, pod.spec.resources),
    current: containerResources(actuated, actuatedResources.pod),
  };
}

/** The limit decides the direction; the request only while the limit stays. */
function movement(
  desired: ResizeResources,
  current: ResizeResources,
  fields: readonly (keyof ResizeResources)[],
): "up" | "down" | undefined {
  const changed = fields.find((field) => desired[field] !== current[field]);
  if (changed === undefined) return undefined;
  return desired[changed] > current[changed] ? "up" : "down";
}

function restartsToResize({ resizePolicy }: AnyContainer, resource: ResourceName): boolean {
  const policy = resizePolicy?.find(({ resourceName }) => resourceName === resource);
  return policy?.restartPolicy === "RestartContainer";
}

const fieldTexts = {
  cpuRequest: { label: "a cpu request of", unit: "m" },
  cpuLimit: { label: "a cpu limit of", unit: "m" },
  memoryRequest: { label: "a memory request of", unit: " bytes" },
  memoryLimit: { label: "a memory limit of", unit: " bytes" },
} as const;

function differences(desired: ResizeResources, current: ResizeResources): string {
  const fields = ["cpuRequest", "cpuLimit", "memoryRequest", "memoryLimit"] as const;
  return fields
    .filter((field) => desired[field] !== current[field])
    .map((field) => {
      const { label, unit } = fieldTexts[field];
      return `${label} ${desired[field]}${unit} instead of ${current[field]}${unit}`;
    })
    .join(" and ");
}
