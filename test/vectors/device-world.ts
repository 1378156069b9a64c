// A device manager and its plugins, driven by the steps of a vector.

import type { DeviceCall, DeviceSteps } from "../../src/core/devices/plugin/device-calls.ts";
import {
  DeviceCheckpointEncoder,
  parseDeviceCheckpoint,
} from "../../src/core/devices/plugin/device-checkpoint.ts";
import type { PluginDevice } from "../../src/core/devices/plugin/device-inventory.ts";
import {
  type ContainerDeviceRequest,
  DeviceManager,
  type DeviceNodeView,
} from "../../src/core/devices/plugin/device-manager.ts";
import { heldNodes } from "../../src/core/devices/plugin/pod-devices.ts";
import { admissionFailure } from "../../src/core/devices/topology/allocation-error.ts";
import {
  noAffinity,
  type ResourceHints,
  type TopologyHint,
} from "../../src/core/devices/topology/hints.ts";
import { allocateResponseCodec } from "../../src/drivers/device-plugins/allocate-response.ts";
import { compareText } from "../../src/lib/compare-text.ts";
import type { Result } from "../../src/lib/result.ts";
import type { Container, PodStatus } from "../../src/model/generated/kubernetes.ts";
import { type PodUid, podUid } from "../../src/model/ids.ts";
import { findContainer, type Pod } from "../../src/model/pod.ts";
import { mustParseQuantity, quantityValue } from "../../src/model/quantity.ts";
import { answerCall, type EncodedDevicePlugin } from "./device-plugins.ts";
import { shownDeviceCheckpoint } from "./shown-device-checkpoint.ts";

interface EncodedHint {
  readonly nodes: readonly number[] | null;
  readonly preferred: boolean;
}

interface Named {
  readonly pod: string;
  readonly container: string;
}

/** Steps that ask the manager for something. */
type Act =
  | { readonly op: "connect" | "disconnect"; readonly resource: string }
  | {
      readonly op: "devices";
      readonly resource: string;
      readonly devices: readonly EncodedDevice[];
    }
  | { readonly op: "capacity" }
  | { readonly op: "podHints"; readonly pod: string }
  | (Named & { readonly op: "hints" | "options" })
  | (Named & { readonly op: "allocate"; readonly affinity?: EncodedHint })
  | { readonly op: "status"; readonly pod: string; readonly status: PodStatus }
  | {
      readonly op: "sanitize";
      readonly pod: string;
      readonly allocatable: Readonly<Record<string, string>>;
    };

/** Steps that change what is around it, or look at its state. */
type Around =
  | { readonly op: "advance"; readonly seconds: number }
  | { readonly op: "shouldReset" }
  | { readonly op: "updateAllocated" }
  | { readonly op: "allocatableDevices" }
  | { readonly op: "removePod"; readonly pod: string }
  | (Named & { readonly op: "getDevices" })
  | { readonly op: "setPod"; readonly podObject: Pod }
  | { readonly op: "sourcesReady"; readonly sourcesReady: boolean }
  | Restart;

interface Restart {
  readonly op: "restart";
  readonly checkpointFile?: string;
  readonly containers?: readonly (Named & { readonly running?: boolean })[];
  readonly sourcesReady?: boolean;
}

type Step = Act | Around;

interface EncodedDevice {
  readonly id: string;
  readonly health: string;
  readonly nodes: readonly number[] | null;
}

export interface DeviceManagerInput {
  readonly kind: "manager" | "choice";
  readonly numaNodes: readonly number[];
  readonly plugins: Readonly<Record<string, EncodedDevicePlugin>>;
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

export class DeviceWorld {
  readonly #input: DeviceManagerInput;
  readonly #names: ReadonlyMap<string, string>;
  readonly #pods: Map<PodUid, Pod>;
  readonly #active = new Set<PodUid>();
  readonly #affinities = new Map<string, TopologyHint>();
  #manager: DeviceManager;
  #calls: ({ readonly resource: string } & Record<string, unknown>)[] = [];
  #nowMs = 0;
  #sourcesReady = true;
  #checkpointFile: string | undefined;
  #shownState: string | undefined;
  allocated: string[] = [];

  constructor(input: DeviceManagerInput, names: ReadonlyMap<string, string> = new Map()) {
    this.#input = input;
    this.#names = names;
    this.#pods = new Map(input.pods.map((pod) => [pod.metadata.uid, pod]));
    this.#manager = new DeviceManager(input.numaNodes);
  }

  run(step: Step): Record<string, unknown> {
    if ("pod" in step && step.op !== "removePod") this.#active.add(podUid(step.pod));
    this.#calls = [];
    const answer = this.#act(step);
    const state = JSON.stringify(this.#state());
    const shown = state === this.#shownState ? {} : this.#state();
    this.#shownState = state;
    const calls = this.#calls.toSorted((a, b) => compareText(a.resource, b.resource));
    return { ...answer, ...(calls.length > 0 ? { calls } : {}), ...shown };
  }

  #act(step: Step): Record<string, unknown> {
    const manager = this.#manager;
    switch (step.op) {
      case "connect": {
        const { preStartRequired, getPreferredAllocationAvailable } = this.#plugin(step.resource);
        manager.inventory.connect(step.resource, {
          preStartRequired,
          getPreferredAllocationAvailable,
        });
        return {};
      }
      case "disconnect":
        manager.inventory.disconnect(step.resource, this.#nowMs);
        return {};
      case "devices":
        return this.#devices(step.resource, step.devices);
      case "capacity":
        return this.#capacity();
      case "hints":
        return encodedHints(manager.hints(this.#pod(step.pod), this.#container(step), this.#node));
      case "podHints":
        return encodedHints(manager.podHints(this.#pod(step.pod), this.#node));
      case "allocate":
        return this.#allocate(step);
      case "options":
        return this.#options(step);
      case "status": {
        const status = manager.withDeviceHealth(podUid(step.pod), step.status);
        const statuses = status.containerStatuses?.map(({ name, allocatedResourcesStatus }) => ({
          name,
          allocatedResourcesStatus: allocatedResourcesStatus?.toSorted((a, b) =>
            compareText(a.name, b.name),
          ),
        }));
        return { containerStatuses: statuses };
      }
      case "sanitize":
        return this.#sanitize(step.pod, step.allocatable);
      default:
        return this.#around(step);
    }
  }

  #around(step: Around): Record<string, unknown> {
    switch (step.op) {
      case "advance":
        // A little time always passes.
        this.#nowMs += step.seconds * 1000 + 1;
        return {};
      case "restart":
        return this.#restart(step);
      case "getDevices": {
        const held = this.#manager.podDevices.ofContainer(podUid(step.pod), step.container);
        const devices = [...(held ?? [])].map(
          ([resource, one]) => [resource, Object.fromEntries(heldNodes(one))] as const,
        );
        return { devices: Object.fromEntries(devices) };
      }
      case "allocatableDevices":
        return { devices: this.#allocatableDevices() };
      case "updateAllocated":
        this.#manager.releaseInactive(this.#node);
        return {};
      case "removePod":
        this.#active.delete(podUid(step.pod));
        return {};
      case "setPod":
        this.#pods.set(step.podObject.metadata.uid, step.podObject);
        return {};
      case "sourcesReady":
        this.#sourcesReady = step.sourcesReady;
        return {};
      case "shouldReset":
        return { shouldReset: this.#checkpointFile === undefined };
    }
  }

  #devices(resource: string, devices: readonly EncodedDevice[]): Record<string, unknown> {
    const reported = devices.map(
      ({ id, health, nodes }): PluginDevice => ({
        id: this.#names.get(id) ?? id,
        health,
        nodes: nodes ?? undefined,
      }),
    );
    const pods = this.#manager.updateDevices(resource, reported);
    this.#save();
    return { podsToUpdate: [...pods].toSorted() };
  }

  #capacity(): Record<string, unknown> {
    const { capacity, allocatable, deleted } = this.#manager.capacity(this.#nowMs);
    if (deleted.length > 0) this.#save();
    const texts = (counts: ReadonlyMap<string, number>) =>
      Object.fromEntries([...counts].map(([resource, count]) => [resource, String(count)]));
    return {
      capacity: texts(capacity),
      allocatable: texts(allocatable),
      deleted: deleted.toSorted(),
    };
  }

  #allocate(step: Named & { readonly affinity?: EncodedHint }): Record<string, unknown> {
    const affinity =
      step.affinity === undefined
        ? noAffinity
        : { nodes: step.affinity.nodes ?? undefined, preferred: step.affinity.preferred };
    this.#affinities.set(`${step.pod}/${step.container}`, affinity);
    const result = this.#finish(this.#manager.allocate(this.#request(step)));
    if (result.ok) return {};
    const { reason, message } = admissionFailure({ message: result.error });
    return { error: result.error, admissionReason: reason, admissionMessage: message };
  }

  #options(step: Named): Record<string, unknown> {
    const result = this.#finish(this.#manager.options(this.#request(step)));
    if (!result.ok) return { error: result.error };
    const options = result.value;
    if (options === undefined) return { options: null };
    const pairs = (map: ReadonlyMap<string, string>) =>
      [...map]
        .map(([name, value]) => ({ name, value }))
        .toSorted((a, b) => compareText(a.name, b.name));
    return {
      options: {
        envs: pairs(options.envs),
        annotations: pairs(options.annotations),
        mounts: options.mounts
          .map((mount) => ({ ...mount, name: mount.containerPath, selinuxRelabel: false }))
          .toSorted((a, b) => compareText(a.containerPath, b.containerPath)),
        devices: options.devices.toSorted((a, b) =>
          compareText(a.pathInContainer, b.pathInContainer),
        ),
        cdiDevices: options.cdiDevices.toSorted(),
      },
    };
  }

  #sanitize(pod: string, allocatable: Readonly<Record<string, string>>): Record<string, unknown> {
    const counts = Object.entries(allocatable)
      .filter(([resource]) => resource.includes("/"))
      .map(
        ([resource, text]) => [resource, Number(quantityValue(mustParseQuantity(text)))] as const,
      );
    const sanitized = this.#manager.sanitizedAllocatable(podUid(pod), new Map(counts));
    return { scalarResources: Object.fromEntries(sanitized) };
  }

  #restart(step: Restart): Record<string, unknown> {
    const running = new Map<PodUid, Set<string>>();
    for (const { pod, container, running: isRunning } of step.containers ?? []) {
      if (isRunning !== true) continue;
      const names = running.get(podUid(pod)) ?? new Set<string>();
      running.set(podUid(pod), names.add(container));
    }
    this.#manager = new DeviceManager(this.#input.numaNodes, running);
    this.#sourcesReady = step.sourcesReady ?? this.#sourcesReady;
    this.#checkpointFile = step.checkpointFile ?? this.#checkpointFile;
    if (this.#checkpointFile === undefined) return {};
    const checkpoint = parseDeviceCheckpoint(this.#checkpointFile, allocateResponseCodec);
    if (!checkpoint.ok) return { readCheckpointError: checkpoint.error };
    this.#manager.restore(checkpoint.value, this.#nowMs);
    return {};
  }

  /** What the checkpoint says at the end, and its text where no order of Go's maps shows in it. */
  file(): Record<string, unknown> {
    return this.#checkpointFile === undefined ? {} : shownDeviceCheckpoint(this.#checkpointFile);
  }

  #finish<T>(steps: DeviceSteps<Result<T, string>>): Result<T, string> {
    let next = steps.next();
    while (next.done !== true) {
      const call = next.value;
      if (call.method === "SaveCheckpoint") {
        this.#save();
        next = steps.next({ kind: "done" });
        continue;
      }
      const own = this.#named(call);
      if (own.method === "Allocate") this.allocated = [...own.deviceIds];
      this.#calls.push(
        own.method === "GetPreferredAllocation"
          ? own
          : { method: own.method, resource: own.resource, deviceIDs: own.deviceIds },
      );
      const answer = answerCall(this.#plugin(own.resource), own);
      next = steps.next(
        answer.kind === "preferred"
          ? { ...answer, deviceIds: answer.deviceIds.map((id) => this.#names.get(id) ?? id) }
          : answer,
      );
    }
    return next.value;
  }

  /** The call with the devices' own names, by which a plugin chooses. */
  #named(call: Exclude<DeviceCall, { method: "SaveCheckpoint" }>): typeof call {
    const own = new Map([...this.#names].map(([id, name]) => [name, id]));
    const ids = (names: readonly string[]): string[] => names.map((name) => own.get(name) ?? name);
    return call.method === "GetPreferredAllocation"
      ? { ...call, available: ids(call.available), mustInclude: ids(call.mustInclude) }
      : { ...call, deviceIds: ids(call.deviceIds) };
  }

  #save(): void {
    this.#checkpointFile = new DeviceCheckpointEncoder(allocateResponseCodec).text(
      this.#manager.checkpoint(),
    );
  }

  #state(): Record<string, unknown> {
    const podDevices: Record<string, Record<string, Record<string, unknown>>> = {};
    for (const { pod, container, resource, idsByNode } of this.#manager.podDevices.entries()) {
      const containers = (podDevices[pod] ??= {});
      const resources = (containers[container] ??= {});
      const sorted = [...idsByNode].map(([node, ids]) => [node, ids.toSorted()] as const);
      resources[resource] = Object.fromEntries(sorted);
    }
    const allocated = [...this.#manager.inUse].toSorted(([a], [b]) => compareText(a, b));
    return {
      podDevices,
      allocatedDevices: Object.fromEntries(
        allocated.map(([resource, ids]) => [resource, [...ids].toSorted()]),
      ),
    };
  }

  #allocatableDevices(): Record<string, unknown> {
    const shown: Record<string, unknown> = {};
    for (const [resource, ids] of this.#manager.inventory.healthyByResource()) {
      const devices = [...this.#manager.inventory.devices(resource).values()];
      const healthy = devices.filter(({ id }) => ids.has(id));
      shown[resource] = Object.fromEntries(healthy.map(({ id, nodes }) => [id, nodes]));
    }
    return shown;
  }

  #request(named: Named): ContainerDeviceRequest {
    return {
      pod: this.#pod(named.pod),
      container: this.#container(named),
      affinity: this.#affinities.get(`${named.pod}/${named.container}`) ?? noAffinity,
      node: this.#node,
    };
  }

  get #node(): DeviceNodeView {
    return { activePods: this.#active, sourcesReady: this.#sourcesReady };
  }

  #plugin(resource: string): EncodedDevicePlugin {
    return this.#input.plugins[resource] ?? {};
  }

  #pod(uid: string): Pod {
    const pod = this.#pods.get(podUid(uid));
    if (pod === undefined) throw new Error(`no pod ${uid}`);
    return pod;
  }

  #container({ pod, container }: Named): Container {
    const placed = findContainer(this.#pod(pod), container);
    if (placed === undefined) throw new Error(`no container ${container}`);
    return placed.container;
  }
}

function encodedHints(hints: ResourceHints): Record<string, unknown> {
  const encoded = [...hints].map(([resource, list]) => [resource, list ?? null] as const);
  return { hints: Object.fromEntries(encoded) };
}
