import type { Container, ContainerStatus } from "../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { addQuantity, isZeroQuantity, type Quantity, zeroQuantity } from "../../model/quantity.ts";
import {
  addResourceLists,
  hugePagesPrefix,
  maxResourceLists,
  type ResourceList,
  resourceList,
} from "./resource-list.ts";

export interface PodResourceOptions {
  /** Counts what is allocated and in force besides the spec: a resize in progress holds the greater of them. */
  readonly useStatus?: boolean;
  readonly excludeOverhead?: boolean;
  /** Leaves only what the pod as a whole asks for. */
  readonly excludeContainers?: boolean;
}

type Kind = "requests" | "limits";

/** What a pod asks for: the greater of its running containers' sum and of any moment of its start. */
export function podRequests(pod: Pod, options: PodResourceOptions = {}): Map<string, Quantity> {
  const requests =
    options.excludeContainers === true
      ? new Map<string, Quantity>()
      : aggregateContainerRequests(pod, options);
  overridePodLevel(requests, pod, "requests", options);
  if (options.excludeOverhead === true) return requests;
  return addResourceLists(requests, resourceList(pod.spec.overhead));
}

/** What a pod may use at most. Overhead counts only where there is a limit. */
export function podLimits(pod: Pod, options: PodResourceOptions = {}): Map<string, Quantity> {
  const limits = aggregate(containerUses(pod, "limits", options));
  overridePodLevel(limits, pod, "limits", options);
  if (options.excludeOverhead === true) return limits;
  for (const [name, overhead] of resourceList(pod.spec.overhead)) {
    const limit = limits.get(name);
    if (limit !== undefined && !isZeroQuantity(limit)) {
      limits.set(name, addQuantity(limit, overhead));
    }
  }
  return limits;
}

/** What the containers of a pod ask for together, without overhead and pod-level requests. */
export function aggregateContainerRequests(
  pod: Pod,
  options: PodResourceOptions = {},
): Map<string, Quantity> {
  return aggregate(containerUses(pod, "requests", options));
}

/** The limits in force for each regular container, and at the start of each init container. */
export function limitsInForce(pod: Pod): ResourceList[] {
  return containerUses(pod, "limits", {}).map(({ inForce }) => inForce);
}

export function hasPodLevelRequests(pod: Pod): boolean {
  return Object.keys(pod.spec.resources?.requests ?? {}).some(isPodLevelResource);
}

function hasPodLevelLimits(pod: Pod): boolean {
  return Object.keys(pod.spec.resources?.limits ?? {}).some(isPodLevelResource);
}

export function hasPodLevelResources(pod: Pod): boolean {
  return hasPodLevelRequests(pod) || hasPodLevelLimits(pod);
}

/** Whether a resource can be given to a pod as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith(hugePagesPrefix);
}

/** Whether the node said that it can never make the resize that is asked for. */
function isResizeInfeasible(pod: Pod): boolean {
  const pending = pod.status?.conditions?.find(({ type }) => type === "PodResizePending");
  return pending?.reason === "Infeasible";
}

interface ContainerUse {
  readonly isInit: boolean;
  /** Runs for as long as the pod does. */
  readonly stays: boolean;
  readonly own: ResourceList;
  /** With the sidecars that already run when an init container starts. */
  readonly inForce: ResourceList;
}

function containerUses(pod: Pod, kind: Kind, options: PodResourceOptions): ContainerUse[] {
  const statuses = options.useStatus === true ? statusesByName(pod) : new Map<string, never>();
  const resources = (container: Container) =>
    effectiveResources(pod, container, statuses.get(container.name), kind);
  const uses: ContainerUse[] = pod.spec.containers.map((container) => {
    const own = resources(container);
    return { isInit: false, stays: true, own, inForce: own };
  });
  let sidecars: ResourceList = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    const stays = isSidecar(container);
    const own = stays ? resources(container) : resourceList(container.resources?.[kind]);
    const inForce = stays ? addResourceLists(sidecars, own) : addResourceLists(own, sidecars);
    if (stays) sidecars = inForce;
    uses.push({ isInit: true, stays, own, inForce });
  }
  return uses;
}

function aggregate(uses: readonly ContainerUse[]): Map<string, Quantity> {
  const running = addResourceLists(...uses.filter(({ stays }) => stays).map(({ own }) => own));
  const starts = uses.filter(({ isInit }) => isInit).map(({ inForce }) => inForce);
  return maxResourceLists(running, ...starts);
}

function effectiveResources(
  pod: Pod,
  container: Container,
  status: ContainerStatus | undefined,
  kind: Kind,
): ResourceList {
  const spec = resourceList(container.resources?.[kind]);
  const inForce = status?.resources;
  if (inForce === undefined) return spec;
  return effective(pod, {
    spec,
    actuated: resourceList(inForce[kind]),
    allocated: kind === "requests" ? resourceList(status?.allocatedResources) : new Map(),
  });
}

interface ResourceState {
  readonly spec: ResourceList;
  readonly actuated: ResourceList;
  readonly allocated: ResourceList;
}

function effective(pod: Pod, { spec, actuated, allocated }: ResourceState): ResourceList {
  return isResizeInfeasible(pod)
    ? maxResourceLists(actuated, allocated)
    : maxResourceLists(spec, actuated, allocated);
}

function overridePodLevel(
  list: Map<string, Quantity>,
  pod: Pod,
  kind: Kind,
  options: PodResourceOptions,
): void {
  const status = pod.status?.resources;
  const spec = resourceList(pod.spec.resources?.[kind]);
  const inForce =
    options.useStatus === true && status !== undefined
      ? effective(pod, {
          spec,
          actuated: resourceList(status[kind]),
          allocated: kind === "requests" ? resourceList(pod.status?.allocatedResources) : new Map(),
        })
      : spec;
  for (const name of spec.keys()) {
    if (isPodLevelResource(name)) list.set(name, inForce.get(name) ?? zeroQuantity);
  }
}

function statusesByName(pod: Pod): Map<string, ContainerStatus> {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return new Map(
    [...containerStatuses, ...initContainerStatuses].map((status) => [status.name, status]),
  );
}
