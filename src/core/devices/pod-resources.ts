import { compareText } from "../../lib/compare-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Container } from "../../model/generated/kubernetes.ts";
import type {
  AllocatableResourcesResponse,
  CDIDevice,
  ClaimResource,
  ContainerDevices,
  ContainerMemory,
  ContainerResources,
  DynamicResource,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  PodResources,
  TopologyInfo,
} from "../../model/generated/pod-resources.ts";
import type { PodUid } from "../../model/ids.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import type { CpuManager } from "./cpu/cpu-manager.ts";
import type { ClaimInfo } from "./dra/claim-info.ts";
import type { DraManager } from "./dra/dra-manager.ts";
import type { MemoryManager } from "./memory/memory-manager.ts";
import type { MemoryBlock } from "./memory/memory-state.ts";
import type { DeviceManager } from "./plugin/device-manager.ts";
import { heldNodes } from "./plugin/pod-devices.ts";

/** What hands out the node's resources. */
export interface ResourceManagers {
  readonly cpus: CpuManager;
  readonly memory: MemoryManager;
  readonly devices: DeviceManager;
  readonly dra: DraManager;
}

/** What these pods hold; the devices of pods that are gone have to be released before. */
export function listPodResources(
  managers: ResourceManagers,
  activePods: readonly Pod[],
): ListPodResourcesResponse {
  return { podResources: activePods.map((pod) => resourcesOf(managers, pod)) };
}

/**
 * What the first version of the API (v1alpha1) shows: the devices of all containers but init containers. Its messages have
 * the numbers of v1, and fewer fields.
 */
export function listPodDevices(
  { devices }: { readonly devices: Pick<DeviceManager, "podDevices"> },
  pods: readonly Pod[],
): ListPodResourcesResponse {
  const podResources = pods.map(({ metadata: { name, namespace, uid }, spec }) => ({
    name,
    namespace,
    containers: spec.containers.map((container) => ({
      name: container.name,
      devices: devicesOf(devices, uid, container.name).map(({ resourceName, deviceIds }) => ({
        resourceName,
        deviceIds,
      })),
    })),
  }));
  return { podResources };
}

/** `pod` is the one of that name, whether it is active or not. */
export function getPodResources(
  managers: ResourceManagers,
  { podName = "", podNamespace = "" }: GetPodResourcesRequest,
  pod: Pod | undefined,
): Result<GetPodResourcesResponse, string> {
  if (pod === undefined) return err(`pod ${podName} in namespace ${podNamespace} not found`);
  return ok({ podResources: resourcesOf(managers, pod) });
}

/** All that could be handed out, whether it is in use or not. */
export function allocatableResources({
  cpus,
  memory,
  devices: { inventory },
}: ResourceManagers): AllocatableResourcesResponse {
  const devices = sorted(inventory.healthyByResource()).flatMap(([resource, healthy]) =>
    [...healthy].toSorted(compareText).flatMap((id) => {
      const device = inventory.devices(resource).get(id);
      return device === undefined ? [] : containerDevices(resource, id, device.nodes);
    }),
  );
  return {
    devices,
    cpuIds: cpus.allocatableCpus().map(BigInt),
    memory: memory.allocatableMemory().map(containerMemory),
  };
}

/** Init containers that are not sidecars are left out. */
function resourcesOf(managers: ResourceManagers, pod: Pod): PodResources {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  return {
    name: pod.metadata.name,
    namespace: pod.metadata.namespace,
    containers: [...sidecars, ...pod.spec.containers].map((container) =>
      resourcesOfContainer(managers, pod, container),
    ),
  };
}

function resourcesOfContainer(
  { cpus, memory, devices, dra }: ResourceManagers,
  pod: Pod,
  container: Container,
): ContainerResources {
  const podUid = pod.metadata.uid;
  const ref = { podUid, container: container.name };
  const claims = dra.containerClaims(pod, container);
  return {
    name: container.name,
    devices: devicesOf(devices, podUid, container.name),
    cpuIds: cpus.exclusiveCpus(ref).map(BigInt),
    memory: memory.blocks(ref).map(containerMemory),
    dynamicResources: claims.ok ? claims.value.map(dynamicResource) : [],
  };
}

function devicesOf(
  { podDevices }: Pick<DeviceManager, "podDevices">,
  podUid: PodUid,
  container: string,
): readonly ContainerDevices[] {
  const held = sorted(podDevices.ofContainer(podUid, container) ?? new Map());
  return held.flatMap(([resource, own]) =>
    sorted(heldNodes(own)).flatMap(([id, nodes]) => containerDevices(resource, id, nodes)),
  );
}

/** One entry for each NUMA node near the device. */
function containerDevices(
  resourceName: string,
  id: string,
  nodes: readonly number[] | undefined,
): readonly ContainerDevices[] {
  const deviceIds = [id];
  if (nodes === undefined) return [{ resourceName, deviceIds }];
  return nodes.map((node) => ({ resourceName, deviceIds, topology: topologyOf([node]) }));
}

function containerMemory({ resource, sizeBytes, nodes }: MemoryBlock): ContainerMemory {
  return { memoryType: resource, size: sizeBytes, topology: topologyOf(nodes) };
}

function topologyOf(nodes: readonly number[]): TopologyInfo {
  return { nodes: nodes.map((node) => ({ ID: BigInt(node) })) };
}

function dynamicResource({ name, namespace, drivers }: ClaimInfo): DynamicResource {
  const claimResources: ClaimResource[] = [];
  for (const [driverName, devices] of sorted(drivers)) {
    // As upstream: a device comes with the CDI devices of those of its driver before it too.
    const cdiDevices: CDIDevice[] = [];
    for (const { pool, device, shareId, cdiDevices: own } of devices) {
      for (const cdiDevice of own) cdiDevices.push({ name: cdiDevice });
      claimResources.push({
        cdiDevices: [...cdiDevices],
        driverName,
        poolName: pool,
        deviceName: device,
        shareId,
      });
    }
  }
  return { claimName: name, claimNamespace: namespace, claimResources };
}

/** In the order of names: upstream's is random. */
function sorted<T>(entries: ReadonlyMap<string, T>): [string, T][] {
  return [...entries].toSorted(([a], [b]) => compareText(a, b));
}
