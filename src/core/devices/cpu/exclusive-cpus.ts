import type { Container } from "../../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../../model/pod.ts";
import { quantityMilliValue, quantityValue } from "../../../model/quantity.ts";
import { podQosClass } from "../../resource/qos.ts";
import { amountOf, resourceList } from "../../resource/resource-list.ts";

/** How many CPUs a container gets for itself: all it asks for, where its pod is Guaranteed and that is a whole number. */
export function exclusiveCpuCount(pod: Pod, { resources }: Container): number {
  if (podQosClass(pod) !== "Guaranteed") return 0;
  const request = amountOf(resourceList(resources?.requests), "cpu");
  const count = quantityValue(request);
  return count * 1000n === quantityMilliValue(request) ? Number(count) : 0;
}

/** How many a pod gets at once: init containers run one after the other, beside the sidecars before them. */
export function podExclusiveCpuCount(pod: Pod): number {
  let sidecars = 0;
  let most = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCpuCount(pod, container);
    if (isSidecar(container)) sidecars += count;
    else most = Math.max(most, sidecars + count);
  }
  const regular = pod.spec.containers.map((container) => exclusiveCpuCount(pod, container));
  return Math.max(most, sidecars + regular.reduce((sum, count) => sum + count, 0));
}
