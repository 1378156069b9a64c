import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import { compareQuantity, isZeroQuantity } from "../../model/quantity.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";
import type { PodResources } from "./pod-allocation.ts";

type Amounts = Readonly<Record<string, string>> | undefined;
type ResizableResource = "cpu" | "memory";

const resizable: readonly ResizableResource[] = ["cpu", "memory"];

/** What a container has once it got its resources: a limit it lacks is that of the pod. */
export function effectiveResources(
  pod: Pod,
  container: Pick<AnyContainer, "resources">,
): ResourceRequirements {
  const { resources = {} } = container;
  const limits: Record<string, string> = { ...resources.limits };
  for (const name of resizable) {
    const ofPod = pod.spec.resources?.limits?.[name];
    if (ofPod === undefined || !isZero(resources.limits, name)) continue;
    if (!isZero(pod.spec.resources?.limits, name)) limits[name] = ofPod;
  }
  return { ...resources, limits };
}

/** The pod's own resources after one of them was applied. */
export function withPodResource(
  actuated: ResourceRequirements | undefined,
  allocated: ResourceRequirements,
  name: ResizableResource,
): ResourceRequirements {
  const applied = (before: Amounts, granted: Amounts): Amounts =>
    granted === undefined ? before : { ...before, [name]: granted[name] ?? "0" };
  return {
    ...actuated,
    requests: applied(actuated?.requests, allocated.requests),
    limits: applied(actuated?.limits, allocated.limits),
  };
}

/**
 * Whether something that runs does not have yet what it was granted. What does not run gets it when it
 * starts; init containers that end are not resized.
 */
export function isResizeInProgress(
  pod: Pod,
  observed: ObservedPod,
  actuated: PodResources | undefined,
): boolean {
  const { initContainers = [], containers, resources } = pod.spec;
  const isBehind = [...initContainers.filter(isSidecar), ...containers].some((container) => {
    if (findObserved(observed, container.name)?.state !== "running") return false;
    const has = actuated?.containers.get(container.name) ?? {};
    return !sameResizable(effectiveResources(pod, container), has);
  });
  if (isBehind) return true;
  if (resources === undefined || actuated?.pod === undefined) return false;
  return !sameResizable(resources, actuated.pod);
}

function sameResizable(a: ResourceRequirements, b: ResourceRequirements): boolean {
  return resizable.every(
    (name) => isSame(a.requests, b.requests, name) && isSame(a.limits, b.limits, name),
  );
}

function isSame(a: Amounts, b: Amounts, name: string): boolean {
  return compareQuantity(amountOf(resourceList(a), name), amountOf(resourceList(b), name)) === 0;
}

function isZero(list: Amounts, name: string): boolean {
  return isZeroQuantity(amountOf(resourceList(list), name));
}
