import { compareText } from "../../../lib/compare-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { Container, PodStatus, ResourceStatus } from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import { isSidecar, type Pod } from "../../../model/pod.ts";
import { quantityValue } from "../../../model/quantity.ts";
import { isBackedByClaim } from "../../admission/resources-fit.ts";
import { podLimits } from "../../resource/pod-resources.ts";
import { type ResourceList, resourceList } from "../../resource/resource-list.ts";
import type { NumaNodes, ResourceHints, TopologyHint } from "../topology/hints.ts";
import {
  type ChosenDevices,
  chooseDevices,
  type DeviceRequest,
  endpointMissing,
  endpointStopped,
  isStopped,
} from "./choose-devices.ts";
import type { DeviceSteps } from "./device-calls.ts";
import type { DeviceCheckpoint } from "./device-checkpoint.ts";
import { deviceHints } from "./device-hints.ts";
import {
  type DeviceCapacity,
  DeviceInventory,
  healthyDevice,
  type PluginDevice,
} from "./device-inventory.ts";
import { type DeviceOptions, deviceOptions } from "./device-options.ts";
import { type HeldDevices, heldIds, noNode, PodDevices } from "./pod-devices.ts";

/** What the manager has to know of the node while it decides. */
export interface DeviceNodeView {
  readonly activePods: ReadonlySet<PodUid>;
  /** Until all sources have reported, a pod that is not listed may still come. */
  readonly sourcesReady: boolean;
}

export interface ContainerDeviceRequest {
  readonly pod: Pod;
  readonly container: Container;
  /** What the topology manager decided for the container. */
  readonly affinity: TopologyHint;
  readonly node: DeviceNodeView;
}

const nothing: ReadonlySet<string> = new Set();

/** Hands out the devices of device plugins. It does no I/O: what it asks of plugins is yielded. */
export class DeviceManager {
  readonly inventory: DeviceInventory;
  readonly podDevices: PodDevices = new PodDevices();
  readonly #machineNodes: NumaNodes;
  /** Containers that ran when the agent started: they have what they need. */
  readonly #runningAtStart: ReadonlyMap<PodUid, ReadonlySet<string>>;
  #inUse = new Map<string, Set<string>>();
  /** What init containers of the pod that is being admitted leave to its other containers. */
  #reusable: { readonly pod: PodUid; readonly ids: Map<string, ReadonlySet<string>> } | undefined;

  constructor(
    machineNodes: NumaNodes,
    runningAtStart: ReadonlyMap<PodUid, ReadonlySet<string>> = new Map(),
    inventory: DeviceInventory = new DeviceInventory(),
  ) {
    this.#machineNodes = machineNodes;
    this.#runningAtStart = runningAtStart;
    this.inventory = inventory;
  }

  /** One with the same devices and holders, to try what would be handed out. */
  copy(): DeviceManager {
    const copy = new DeviceManager(this.#machineNodes, this.#runningAtStart, this.inventory);
    for (const entry of this.podDevices.entries()) copy.podDevices.add(entry);
    copy.#inUse = copy.podDevices.idsByResource();
    return copy;
  }

  /** Devices that are handed out or about to be, by resource. */
  get inUse(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#inUse;
  }

  /** Takes over what a past agent handed out; its plugins have yet to connect. */
  restore({ entries, registered }: DeviceCheckpoint, nowMs: number): void {
    for (const entry of entries) this.podDevices.add(entry);
    this.#inUse = this.podDevices.idsByResource();
    for (const resource of registered.keys()) this.inventory.restore(resource, nowMs);
  }

  checkpoint(): DeviceCheckpoint {
    const registered = [...this.inventory.healthyByResource()].map(
      ([resource, ids]) => [resource, [...ids]] as const,
    );
    return { entries: [...this.podDevices.entries()], registered: new Map(registered) };
  }

  /** Takes a plugin's list of devices; returns the pods whose status changes by it. The checkpoint has to be saved. */
  updateDevices(resource: string, devices: readonly PluginDevice[]): Set<PodUid> {
    const pods = this.inventory
      .update(resource, devices)
      .map((id) => this.podDevices.podWith(id))
      .filter((pod) => pod !== undefined);
    return new Set(pods);
  }

  /** The checkpoint has to be saved when a resource was deleted. */
  capacity(nowMs: number): DeviceCapacity {
    return this.inventory.capacity(nowMs);
  }

  /** Whether the resource is a device plugin's, now or when it was handed out. */
  #isDevice(resource: string): boolean {
    return this.inventory.healthy(resource) !== undefined || this.#inUse.has(resource);
  }

  /** Takes back what pods that are gone held. */
  releaseInactive({ activePods, sourcesReady }: DeviceNodeView): void {
    if (!sourcesReady) return;
    const gone = this.podDevices.pods.filter((pod) => !activePods.has(pod));
    if (gone.length === 0) return;
    for (const pod of gone) this.podDevices.remove(pod);
    this.#inUse = this.podDevices.idsByResource();
  }

  /** The pod has ended. True when it held something: the checkpoint has to be saved. */
  releasePod(pod: PodUid): boolean {
    if (!this.podDevices.has(pod)) return false;
    this.podDevices.remove(pod);
    this.#inUse = this.podDevices.idsByResource();
    return true;
  }

  /** Takes back what was chosen for a container and not given to it in the end. */
  releaseChosen(): void {
    this.#inUse = this.podDevices.idsByResource();
  }

  /** Whether a container asks for devices, and which of its resources it has none of yet. */
  needs(pod: Pod, container: Container): { readonly any: boolean; readonly missing: boolean } {
    const wanted = limitsOf(resourceList(container.resources?.limits)).filter(
      ([resource, count]) =>
        count > 0 && this.#isDevice(resource) && !isBackedByClaim(pod, container.name, resource),
    );
    const isHeld = ([resource]: readonly [string, number]): boolean =>
      this.podDevices.ids(pod.metadata.uid, container.name, resource) !== undefined;
    return { any: wanted.length > 0, missing: !wanted.every(isHeld) };
  }

  /** Allocates all devices that a container asks for. Init containers have to come first. */
  *allocate(request: ContainerDeviceRequest): DeviceSteps<Result<void, string>> {
    const { pod, container } = request;
    const uid = pod.metadata.uid;
    if (this.#reusable?.pod !== uid) this.#reusable = { pod: uid, ids: new Map() };
    const reusable = this.#reusable.ids;
    const done = yield* this.#allocateAll(request, reusable);
    if (!done.ok) return done;
    const init = pod.spec.initContainers?.find(({ name }) => name === container.name);
    const leaves = init !== undefined && !isSidecar(init);
    for (const [resource, held] of this.podDevices.ofContainer(uid, container.name) ?? []) {
      const before = [...(reusable.get(resource) ?? [])];
      const own = heldIds(held);
      const after = leaves ? [...before, ...own] : before.filter((id) => !own.has(id));
      reusable.set(resource, new Set(after));
    }
    return ok(undefined);
  }

  *#allocateAll(
    request: ContainerDeviceRequest,
    reusable: ReadonlyMap<string, ReadonlySet<string>>,
  ): DeviceSteps<Result<void, string>> {
    const { pod, container, affinity, node } = request;
    let isReleased = false;
    let isChanged = false;
    for (const [resource, count] of limitsOf(resourceList(container.resources?.limits))) {
      if (isBackedByClaim(pod, container.name, resource) || !this.#isDevice(resource)) continue;
      if (!isReleased) this.releaseInactive(node);
      isReleased = true;
      const wanted = { resource, count, affinity, reusable: reusable.get(resource) ?? nothing };
      const problem = this.#obstacle(request, wanted);
      if (problem === "nothing to do") continue;
      if (problem !== undefined) return err(problem.error);
      const chosen = yield* chooseDevices(this.inventory, (name) => this.#idsInUse(name), wanted);
      if (!chosen.ok) return chosen;
      const done = yield* this.#allocateChosen(request, resource, chosen.value);
      if (!done.ok) return done;
      isChanged = true;
    }
    if (!isChanged) return ok(undefined);
    const saved = yield { method: "SaveCheckpoint" };
    return saved.kind === "failed" ? err(saved.error) : ok(undefined);
  }

  /** Why no devices have to be, or can be, chosen. */
  #obstacle(
    { pod, container, node }: ContainerDeviceRequest,
    { resource, count }: DeviceRequest,
  ): "nothing to do" | { readonly error: string } | undefined {
    const uid = pod.metadata.uid;
    const held = this.podDevices.ids(uid, container.name, resource);
    if (held !== undefined && held.size !== count) {
      return {
        error: `pod "${uid}" container "${container.name}" changed request for resource "${resource}" from ${held.size} to ${count}`,
      };
    }
    const isRunning = this.#runningAtStart.get(uid)?.has(container.name) === true;
    if (!node.sourcesReady && isRunning) return "nothing to do";
    const healthy = this.inventory.healthy(resource);
    if (healthy === undefined) return { error: `cannot allocate unregistered device ${resource}` };
    if (healthy.size === 0) {
      return {
        error: `no healthy devices present; cannot allocate unhealthy devices ${resource}`,
      };
    }
    if (![...(held ?? [])].every((id) => healthy.has(id))) {
      return {
        error: `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      };
    }
    return held !== undefined || count === 0 ? "nothing to do" : undefined;
  }

  *#allocateChosen(
    { pod, container }: ContainerDeviceRequest,
    resource: string,
    { ids, because }: ChosenDevices,
  ): DeviceSteps<Result<void, string>> {
    const endpoint = this.inventory.endpoint(resource);
    if (endpoint === undefined) return this.#giveBack(`unknown Device Plugin ${resource}`);
    if (isStopped(endpoint)) return this.#giveBack(endpointStopped(resource));
    const deviceIds = [...ids].toSorted(compareText);
    const answer = yield { method: "Allocate", resource, deviceIds };
    if (answer.kind === "failed") return this.#giveBack(answer.error);
    const [response] = answer.kind === "allocated" ? answer.responses : [];
    if (response === undefined) return err("no containers return in allocation response ");
    const idsByNode = new Map<number, string[]>();
    for (const id of deviceIds) {
      const nodes = this.inventory.nodesOf(resource, id);
      for (const node of nodes.length === 0 ? [noNode] : nodes) {
        idsByNode.set(node, [...(idsByNode.get(node) ?? []), id]);
      }
    }
    const pair = { pod: pod.metadata.uid, container: container.name };
    this.podDevices.add({ ...pair, resource, idsByNode, response, because });
    return ok(undefined);
  }

  #giveBack(error: string): Result<never, string> {
    this.#inUse = this.podDevices.idsByResource();
    return err(error);
  }

  #idsInUse(resource: string): Set<string> {
    const ids = this.#inUse.get(resource) ?? new Set<string>();
    this.#inUse.set(resource, ids);
    return ids;
  }

  /** What a container's config gets; undefined when it holds no device. Plugins that want to are called before its start. */
  *options(
    request: ContainerDeviceRequest,
  ): DeviceSteps<Result<DeviceOptions | undefined, string>> {
    const { pod, container, node } = request;
    const uid = pod.metadata.uid;
    let isMissing = false;
    for (const [resource, count] of limitsOf(resourceList(container.resources?.limits))) {
      if (!this.#isDevice(resource) || count === 0) continue;
      const prepared = yield* this.#preStart(uid, container.name, resource);
      if (!prepared.ok) return prepared;
      if (!node.activePods.has(uid)) continue;
      if (this.podDevices.ids(uid, container.name, resource) === undefined) isMissing = true;
    }
    if (isMissing) {
      // The plugin connected after the pod was admitted.
      const allocated = yield* this.allocate(request);
      if (!allocated.ok) return allocated;
    }
    const held = this.podDevices.ofContainer(uid, container.name);
    return ok(held === undefined ? undefined : deviceOptions(held.values()));
  }

  *#preStart(pod: PodUid, container: string, resource: string): DeviceSteps<Result<void, string>> {
    const endpoint = this.inventory.endpoint(resource);
    if (endpoint === undefined) return err(endpointMissing(resource));
    if (endpoint.options?.preStartRequired !== true) return ok(undefined);
    const held = this.podDevices.ids(pod, container, resource);
    if (held === undefined) {
      return err(
        `no devices found allocated in local cache for pod ${pod}, container ${container}, resource ${resource}`,
      );
    }
    const failed = "device plugin PreStartContainer rpc failed with err:";
    if (isStopped(endpoint)) return err(`${failed} ${endpointStopped(resource)}`);
    const deviceIds = [...held].toSorted(compareText);
    const answer = yield { method: "PreStartContainer", resource, deviceIds };
    return answer.kind === "failed" ? err(`${failed} ${answer.error}`) : ok(undefined);
  }

  /** Hints for one container. */
  hints(pod: Pod, container: Container, node: DeviceNodeView): ResourceHints {
    this.releaseInactive(node);
    const uid = pod.metadata.uid;
    return this.#hints(resourceList(container.resources?.limits), (resource) => ({
      held: this.podDevices.ids(uid, container.name, resource) ?? nothing,
      reusable:
        (this.#reusable?.pod === uid ? this.#reusable.ids.get(resource) : undefined) ?? nothing,
    }));
  }

  /** Hints for all containers of a pod together. */
  podHints(pod: Pod, node: DeviceNodeView): ResourceHints {
    this.releaseInactive(node);
    return this.#hints(podLimits(pod, { excludeOverhead: true }), (resource) => ({
      held: this.podDevices.idsOfPod(pod.metadata.uid, resource),
      reusable: nothing,
    }));
  }

  #hints(
    limits: ResourceList,
    known: (resource: string) => Record<"held" | "reusable", ReadonlySet<string>>,
  ): ResourceHints {
    const hints = new Map<string, readonly TopologyHint[] | undefined>();
    for (const [resource, count] of limitsOf(limits)) {
      if (!this.#isDevice(resource)) continue;
      if (!this.inventory.hasTopology(resource)) {
        hints.set(resource, undefined);
        continue;
      }
      const { held, reusable } = known(resource);
      const free = [...(this.inventory.healthy(resource) ?? [])].filter(
        (id) => this.#inUse.get(resource)?.has(id) !== true,
      );
      const isEnough =
        held.size > 0 ? held.size === count : new Set([...free, ...reusable]).size >= count;
      const choice =
        held.size > 0
          ? { available: held, reusable: nothing }
          : { available: new Set(free), reusable };
      hints.set(
        resource,
        isEnough
          ? deviceHints(this.inventory, this.#machineNodes, { resource, count, ...choice })
          : [],
      );
    }
    return hints;
  }

  /** The container statuses with the health of the devices that each container holds. */
  withDeviceHealth(pod: PodUid, status: PodStatus): PodStatus {
    if (!this.podDevices.has(pod)) return status;
    const containerStatuses = status.containerStatuses?.map((container) => {
      const held = this.podDevices.ofContainer(pod, container.name);
      if (held === undefined) return container;
      const statuses = [...(container.allocatedResourcesStatus ?? [])];
      for (const [resource, devices] of [...held].toSorted(([a], [b]) => compareText(a, b))) {
        if (devices.idsByNode.size === 0) continue;
        const index = statuses.findIndex(({ name }) => name === resource);
        statuses.splice(index < 0 ? statuses.length : index, 1, this.#health(resource, devices));
      }
      return { ...container, allocatedResourcesStatus: statuses };
    });
    return { ...status, containerStatuses };
  }

  #health(resource: string, held: HeldDevices): ResourceStatus {
    const known = this.inventory.devices(resource);
    const resources = [...heldIds(held)].toSorted(compareText).map((id) => {
      const health = known.get(id)?.health ?? healthyDevice;
      return { resourceID: id, health: health === healthyDevice ? "Healthy" : "Unhealthy" };
    });
    return { name: resource, resources };
  }

  /**
   * The node's allocatable for the admission of a pod that already holds devices: at least what is handed out, so that it is admitted
   * again while a plugin is away.
   */
  sanitizedAllocatable(pod: PodUid, allocatable: ReadonlyMap<string, number>): Map<string, number> {
    const sanitized = new Map(allocatable);
    if (!this.podDevices.has(pod)) return sanitized;
    for (const [resource, ids] of this.#inUse) {
      const count = sanitized.get(resource);
      if (count === undefined || count < ids.size) sanitized.set(resource, ids.size);
    }
    return sanitized;
  }
}

/** Whole amounts in the order of their names: upstream's order is random. */
function limitsOf(limits: ResourceList): [string, number][] {
  return [...limits]
    .map(([resource, quantity]): [string, number] => [resource, Number(quantityValue(quantity))])
    .toSorted(([a], [b]) => compareText(a, b));
}
