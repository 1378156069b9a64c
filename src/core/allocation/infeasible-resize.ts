import type { Container, ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { compareQuantity } from "../../model/quantity.ts";
import { type AdmissionResult, rejected } from "../admission/admission.ts";
import { podQosClass } from "../resource/qos.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";
import { type PodResources, withAllocation } from "./pod-allocation.ts";

/** What of the node decides whether resources of a running pod can change at all. */
export interface ResizeFacts {
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  readonly mayUseSwap: (pod: Pod, container: Container) => boolean;
}

/** A refusal with the word that the metric of infeasible resizes counts it under. */
export interface InfeasibleResize {
  readonly detail: string;
  readonly result: AdmissionResult;
}

/** Why the node can never change a pod from what it was granted to what it asks for; undefined when it can. */
export function infeasibleResize(
  pod: Pod,
  allocation: PodResources,
  facts: ResizeFacts,
): InfeasibleResize | undefined {
  if (resizesSwap(pod, withAllocation(pod, allocation), facts)) {
    return infeasible(
      "swap_limitation",
      "In-place resize of containers with swap is not supported.",
    );
  }
  if (podQosClass(pod) !== "Guaranteed") return undefined;
  if (facts.cpuManagerPolicy === "static" && requestsDiffer(pod, allocation, "cpu")) {
    return infeasible(
      "guaranteed_pod_cpu_manager_static_policy",
      'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    );
  }
  if (facts.memoryManagerPolicy === "Static" && requestsDiffer(pod, allocation, "memory")) {
    return infeasible(
      "guaranteed_pod_memory_manager_static_policy",
      'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    );
  }
  return undefined;
}

function infeasible(detail: string, message: string): InfeasibleResize {
  return { detail, result: rejected("Infeasible", message) };
}

/** The share of swap follows from the memory request, and only a new container gets another. */
function resizesSwap(pod: Pod, allocated: Pod, { mayUseSwap }: ResizeFacts): boolean {
  const before = new Map(allContainers(allocated).map((container) => [container.name, container]));
  return allContainers(pod).some((wanted) => {
    const granted = before.get(wanted.name);
    if (granted === undefined || restartsForMemory(granted)) return false;
    if (sameRequest(wanted.resources, granted.resources, "memory")) return false;
    return mayUseSwap(pod, wanted) || mayUseSwap(allocated, granted);
  });
}

function restartsForMemory({ resizePolicy }: Container): boolean {
  const policy = resizePolicy?.find(({ resourceName }) => resourceName === "memory");
  return policy?.restartPolicy === "RestartContainer";
}

function requestsDiffer(pod: Pod, { containers }: PodResources, resource: string): boolean {
  return allContainers(pod).some(
    ({ name, resources }) => !sameRequest(resources, containers.get(name), resource),
  );
}

function sameRequest(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
  resource: string,
): boolean {
  const amount = (resources: ResourceRequirements | undefined) =>
    amountOf(resourceList(resources?.requests), resource);
  return compareQuantity(amount(a), amount(b)) === 0;
}

function allContainers({ spec }: Pod): readonly Container[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}
