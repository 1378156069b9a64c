import type { ContainerStatus, ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { ObservedContainer, ObservedResources } from "../../model/observed.ts";
import { mustParseQuantity, quantityMilliValue } from "../../model/quantity.ts";

export type ResourceList = Readonly<Record<string, string>>;

/** Shares below this many cannot be set, so a smaller request shows as this in the cgroup. */
const minCpuRequestMilli = 2n;
/** A CPU limit below this has the effect of this one. */
const minCpuLimitMilli = 10n;

/** The resources of a container as its status shows them: what the runtime applies, where that is known. */
export function containerResourcesStatus(
  allocated: ResourceRequirements,
  seen: ObservedContainer,
  old: ContainerStatus | undefined,
): ResourceRequirements {
  if (seen.state !== "running") return allocated;
  const isSameRun = old?.state?.running !== undefined && old.containerID === seen.id;
  const before = isSameRun ? old.resources : undefined;
  return {
    ...allocated,
    limits: allocated.limits && {
      ...allocated.limits,
      ...cpuLimitStatus(allocated.limits, seen.resources, before),
      ...entry("memory", seen.resources?.memoryLimit ?? before?.limits?.["memory"]),
    },
    requests: allocated.requests && {
      ...allocated.requests,
      ...cpuRequestStatus(allocated.requests, seen.resources, before),
      ...entry("memory", seen.resources?.memoryRequest ?? before?.requests?.["memory"]),
    },
  };
}

/** The CPU request to show, if another than the allocated one. */
export function cpuRequestStatus(
  allocated: ResourceList,
  applied: ObservedResources | undefined,
  before: ResourceRequirements | undefined,
): ResourceList {
  if (applied?.cpuRequest === undefined) return entry("cpu", before?.requests?.["cpu"]);
  return isAbove(minCpuRequestMilli, applied.cpuRequest, allocated["cpu"])
    ? { cpu: applied.cpuRequest }
    : {};
}

/** The CPU limit to show, if another than the allocated one. */
export function cpuLimitStatus(
  allocated: ResourceList,
  applied: ObservedResources | undefined,
  before: ResourceRequirements | undefined,
): ResourceList {
  if (applied?.cpuLimit === undefined) return entry("cpu", before?.limits?.["cpu"]);
  return isAbove(minCpuLimitMilli, applied.cpuLimit, allocated["cpu"])
    ? { cpu: applied.cpuLimit }
    : {};
}

/** A list of that one resource, or of none. */
export function entry(name: string, quantity: string | undefined): ResourceList {
  return quantity === undefined ? {} : { [name]: quantity };
}

/** Two amounts that both count as the minimum are the same to the kernel: then the allocated one is shown. */
function isAbove(minimumMilli: bigint, ...quantities: readonly (string | undefined)[]): boolean {
  return quantities.some(
    (text) => text !== undefined && quantityMilliValue(mustParseQuantity(text)) > minimumMilli,
  );
}
