import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import { mustParseQuantity, quantityMilliValue, quantityValue } from "../../model/quantity.ts";
import type { ResizeResources } from "./step.ts";

/** What a container gets: its own requests and limits; a limit it lacks is that of the pod. */
export function containerResources(
  container: ResourceRequirements | undefined,
  pod: ResourceRequirements | undefined,
): ResizeResources {
  return {
    cpuRequest: milliCpu(container?.requests),
    cpuLimit: milliCpu(container?.limits) || milliCpu(pod?.limits),
    memoryRequest: memoryBytes(container?.requests),
    memoryLimit: memoryBytes(container?.limits) || memoryBytes(pod?.limits),
  };
}

/** The pod's own requests and limits, as spec.resources has them. */
export function podLevelResources(pod: ResourceRequirements | undefined): ResizeResources {
  return containerResources(pod, undefined);
}

export function sameResources(a: ResizeResources, b: ResizeResources): boolean {
  return (
    a.cpuRequest === b.cpuRequest &&
    a.cpuLimit === b.cpuLimit &&
    a.memoryRequest === b.memoryRequest &&
    a.memoryLimit === b.memoryLimit
  );
}

type ResourceList = Readonly<Record<string, string>> | undefined;

function milliCpu(list: ResourceList): number {
  const text = list?.["cpu"];
  return text === undefined ? 0 : Number(quantityMilliValue(mustParseQuantity(text)));
}

function memoryBytes(list: ResourceList): number {
  const text = list?.["memory"];
  return text === undefined ? 0 : Number(quantityValue(mustParseQuantity(text)));
}
