import { deepEqual } from "../../lib/deep-equal.ts";
import type { Container, ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { compareQuantity } from "../../model/quantity.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";

/** The resources that a pod was granted, or that were applied to it. */
export interface PodResources {
  /** By container name. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** Those of the pod as a whole. */
  readonly pod?: ResourceRequirements | undefined;
}

/** What the spec of a pod asks for. */
export function specResources({ spec }: Pod): PodResources {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    containers: new Map(containers.map(({ name, resources }) => [name, resources ?? {}])),
    pod: spec.resources,
  };
}

/** The pod with the resources it was granted; the very same pod where it asks for just those. */
export function withAllocation(pod: Pod, allocation: PodResources | undefined): Pod {
  if (allocation === undefined) return pod;
  let changed = !sameOptionalResources(pod.spec.resources, allocation.pod);
  const granted = (container: Container): Container => {
    const resources = allocation.containers.get(container.name);
    if (resources === undefined || sameResources(container.resources ?? {}, resources)) {
      return container;
    }
    changed = true;
    return { ...container, resources };
  };
  const containers = pod.spec.containers.map(granted);
  const initContainers = pod.spec.initContainers?.map(granted);
  if (!changed) return pod;
  return { ...pod, spec: { ...pod.spec, containers, initContainers, resources: allocation.pod } };
}

/** A pod with no resources of its own differs from one whose resources are empty. */
export function sameOptionalResources(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean {
  return a === undefined || b === undefined ? a === b : sameResources(a, b);
}

function sameResources(a: ResourceRequirements, b: ResourceRequirements): boolean {
  return (
    sameAmounts(a.requests, b.requests) &&
    sameAmounts(a.limits, b.limits) &&
    deepEqual(a.claims ?? [], b.claims ?? [])
  );
}

type Amounts = Readonly<Record<string, string>> | undefined;

/** Equal amounts may be written differently: 1 and 1000m. */
function sameAmounts(a: Amounts, b: Amounts): boolean {
  const left = resourceList(a);
  const right = resourceList(b);
  if (left.size !== right.size) return false;
  return [...left].every(([name, amount]) => {
    return right.has(name) && compareQuantity(amount, amountOf(right, name)) === 0;
  });
}
