import type { PodStatus, ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { ObservedResources } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { formatQuantity, type Quantity } from "../../model/quantity.ts";
import { podLimits, podRequests } from "../resource/pod-resources.ts";
import { cpuLimitStatus, cpuRequestStatus, entry, type ResourceList } from "./running-resources.ts";

/** The resource fields of a pod's status; `applied` is what its cgroup is set to, as far as that is known. */
export function podResourcesStatus(
  pod: Pod,
  oldStatus: PodStatus,
  applied: ObservedResources | undefined,
): Pick<PodStatus, "resources" | "allocatedResources"> {
  const requests = textList(podRequests(pod));
  const resources =
    pod.status?.phase === "Running"
      ? runningResources(pod, requests, oldStatus, applied)
      : { ...pod.spec.resources, requests, limits: textList(podLimits(pod)) };
  return { resources, allocatedResources: requests };
}

/** The pod-level resources of the spec, with what is in force instead of what is asked for. */
function runningResources(
  pod: Pod,
  totalRequests: ResourceList,
  oldStatus: PodStatus,
  applied: ObservedResources | undefined,
): ResourceRequirements {
  const before = oldStatus.phase === "Running" ? oldStatus.resources : undefined;
  const { requests = {}, limits = {} } = pod.spec.resources ?? {};
  return {
    ...pod.spec.resources,
    requests: {
      ...entry("memory", totalRequests["memory"]),
      ...requests,
      ...cpuRequestStatus(requests, applied, before),
      // Memory requests are not in the cgroup, so the last report is all there is.
      ...entry("memory", before?.requests?.["memory"]),
    },
    limits: {
      ...limits,
      ...cpuLimitStatus(limits, applied, before),
      ...entry("memory", applied?.memoryLimit ?? before?.limits?.["memory"]),
    },
  };
}

function textList(list: ReadonlyMap<string, Quantity>): ResourceList {
  return Object.fromEntries([...list].map(([name, amount]) => [name, formatQuantity(amount)]));
}
