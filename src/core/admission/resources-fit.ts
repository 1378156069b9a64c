import type { Container, Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { quantityMilliValue, quantityValue } from "../../model/quantity.ts";
import { isClaimableResource, isExtendedResource } from "../../model/validate/resource-names.ts";
import { podRequests } from "../resource/pod-resources.ts";
import {
  amountOf,
  hugePagesPrefix,
  type ResourceList,
  resourceList,
} from "../resource/resource-list.ts";

/** CPU in thousandths, everything else in its own unit. */
export interface InsufficientResource {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

const firstResources = ["cpu", "memory", "ephemeral-storage"];

/** What the node has too little of for the pod, beside the others. */
export function insufficientResources(
  pod: Pod,
  otherPods: readonly Pod[],
  node: Node,
): InsufficientResource[] {
  const allocatable = resourceList(node.status?.allocatable);
  const requests = podRequests(withoutUnknownResources(pod, allocatable));
  const used = otherPods.map((other) => podRequests(other, { useStatus: true }));
  const failures: InsufficientResource[] = [];
  const check = (resource: string, requested: bigint, inUse: bigint): void => {
    const capacity = unitsOf(allocatable, resource);
    if (requested > 0n && requested > capacity - inUse) {
      failures.push({ resource, requested, used: inUse, capacity });
    }
  };
  check("pods", 1n, BigInt(otherPods.length));
  const others = [...requests.keys()].filter(isScalarResource).toSorted();
  for (const resource of [...firstResources, ...others]) {
    const inUse = used.reduce((sum, list) => sum + unitsOf(list, resource), 0n);
    check(resource, unitsOf(requests, resource), inUse);
  }
  return failures;
}

function unitsOf(list: ResourceList, resource: string): bigint {
  const amount = amountOf(list, resource);
  return resource === "cpu" ? quantityMilliValue(amount) : quantityValue(amount);
}

/**
 * Extended resources that the node does not have are not its business: the cluster, or dynamic
 * resource allocation, gives them.
 */
function withoutUnknownResources(pod: Pod, allocatable: ResourceList): Pod {
  const isUnknown = (container: Container, resource: string): boolean =>
    (isExtendedResource(resource) && !allocatable.has(resource)) ||
    isBackedByClaim(pod, container.name, resource);
  const known = (container: Container): Container => ({
    ...container,
    resources: {
      ...container.resources,
      requests: Object.fromEntries(
        Object.entries(container.resources?.requests ?? {}).filter(
          ([resource]) => !isUnknown(container, resource),
        ),
      ),
    },
  });
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: pod.spec.containers.map(known),
      initContainers: pod.spec.initContainers?.map(known),
    },
  };
}

/** Whether a claim delivers the extended resource to the container, and no device plugin. */
export function isBackedByClaim(pod: Pod, containerName: string, resource: string): boolean {
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return (
    isClaimableResource(resource) &&
    mappings.some(
      (mapping) => mapping.resourceName === resource && mapping.containerName === containerName,
    )
  );
}

/** Resources that are counted beyond those every node has. */
function isScalarResource(resource: string): boolean {
  return (
    isExtendedResource(resource) ||
    resource.startsWith(hugePagesPrefix) ||
    resource.includes("kubernetes.io/") ||
    resource.startsWith("attachable-volumes-")
  );
}
