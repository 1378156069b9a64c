// All managers of a node together, and the steps that admit and remove pods.

import { type CpuManager, startCpuManager } from "../../src/core/devices/cpu/cpu-manager.ts";
import { cpuPolicy } from "../../src/core/devices/cpu/cpu-policy.ts";
import {
  type MemoryManager,
  startMemoryManager,
} from "../../src/core/devices/memory/memory-manager.ts";
import { memoryPolicy } from "../../src/core/devices/memory/memory-policy.ts";
import type { DeviceSteps } from "../../src/core/devices/plugin/device-calls.ts";
import { DeviceManager } from "../../src/core/devices/plugin/device-manager.ts";
import { staleContainers } from "../../src/core/devices/topology/container-ref.ts";
import {
  type HintProvider,
  TopologyManager,
} from "../../src/core/devices/topology/topology-manager.ts";
import { topologyPolicy } from "../../src/core/devices/topology/topology-policy.ts";
import { resourceList } from "../../src/core/resource/resource-list.ts";
import type { Result } from "../../src/lib/result.ts";
import { parseCpuSet } from "../../src/model/cpu-set.ts";
import type { Pod } from "../../src/model/pod.ts";
import { ActivePods } from "./active-pods.ts";
import { answerCall, type EncodedDevicePlugin } from "./device-plugins.ts";
import { type EncodedMachine, machineTopology } from "./machine-encodings.ts";

type Amounts = Readonly<Record<string, string>>;

export interface EncodedNodeManagers {
  readonly machineInfo: EncodedMachine;
  readonly cpuManagerPolicy: string;
  readonly cpuManagerPolicyOptions?: Amounts;
  readonly memoryManagerPolicy: string;
  readonly nodeReservation: Amounts;
  readonly reservedMemory?: readonly { readonly numaNode?: number; readonly limits?: Amounts }[];
  readonly reservedSystemCPUs?: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerPolicyOptions?: Amounts;
  readonly topologyManagerScope: string;
  readonly plugins?: Readonly<Record<string, EncodedDevicePlugin>>;
  readonly devices?: Readonly<
    Record<
      string,
      readonly {
        readonly id: string;
        readonly health: string;
        readonly nodes: readonly number[] | null;
      }[]
    >
  >;
}

export class NodeManagers {
  readonly pods: ActivePods;
  readonly cpus: CpuManager;
  readonly memory: MemoryManager;
  readonly devices: DeviceManager;
  readonly topology: TopologyManager;
  readonly #plugins: Readonly<Record<string, EncodedDevicePlugin>>;

  constructor(node: EncodedNodeManagers, pods: readonly Pod[]) {
    this.pods = new ActivePods(pods);
    this.#plugins = node.plugins ?? {};
    this.cpus = startedCpus(node);
    this.memory = startedMemory(node);
    const nodes = machineTopology(node.machineInfo).numaNodes;
    this.devices = new DeviceManager(nodes.map(({ id }) => id));
    for (const [resource, { preStartRequired, getPreferredAllocationAvailable }] of Object.entries(
      this.#plugins,
    )) {
      const options = { preStartRequired, getPreferredAllocationAvailable };
      this.devices.inventory.connect(resource, options);
    }
    for (const [resource, devices] of Object.entries(node.devices ?? {})) {
      const reported = devices.map((device) => ({ ...device, nodes: device.nodes ?? undefined }));
      this.devices.updateDevices(resource, reported);
    }
    const policy = topologyPolicy(
      {
        policy: node.topologyManagerPolicy,
        scope: node.topologyManagerScope,
        options: node.topologyManagerPolicyOptions ?? {},
      },
      nodes,
    );
    const providers = [
      this.#deviceProvider(),
      this.#withoutStale(this.cpus),
      this.#withoutStale(this.memory),
    ];
    this.topology = new TopologyManager(valueOf(policy), providers);
  }

  /** A pod that is not admitted is not active afterwards. */
  async admit(uid: string): Promise<{ admit: boolean; reason: string; message: string }> {
    this.pods.add(uid);
    const failure = await this.topology.admit(this.pods.get(uid));
    if (failure === undefined) return { admit: true, reason: "", message: "" };
    this.pods.remove(uid);
    const { reason, message } = failure;
    return { admit: false, reason, message };
  }

  #withoutStale(manager: CpuManager | MemoryManager): HintProvider {
    const current = (): HintProvider => {
      manager.removeStale(staleContainers(this.pods.list()));
      return manager;
    };
    return {
      hints: (pod, container) => current().hints(pod, container),
      podHints: (pod) => current().podHints(pod),
      allocate: (pod, container, affinity) => current().allocate(pod, container, affinity),
    };
  }

  #deviceProvider(): HintProvider {
    const node = () => ({
      activePods: new Set(this.pods.list().map(({ metadata }) => metadata.uid)),
      sourcesReady: true,
    });
    return {
      hints: (pod, container) => this.devices.hints(pod, container, node()),
      podHints: (pod) => this.devices.podHints(pod, node()),
      allocate: (pod, container, affinity) => {
        const request = { pod, container, affinity, node: node() };
        const done = this.#finish(this.devices.allocate(request));
        return done.ok ? undefined : { message: done.error };
      },
    };
  }

  #finish<T>(steps: DeviceSteps<T>): T {
    let next = steps.next();
    while (next.done !== true) {
      const call = next.value;
      const plugin = call.method === "SaveCheckpoint" ? {} : (this.#plugins[call.resource] ?? {});
      next = steps.next(answerCall(plugin, call));
    }
    return next.value;
  }
}

function startedCpus(node: EncodedNodeManagers): CpuManager {
  const policy = cpuPolicy(
    {
      policy: node.cpuManagerPolicy,
      options: node.cpuManagerPolicyOptions ?? {},
      optionGates: { alpha: false, beta: true },
      reservation: resourceList(node.nodeReservation).get("cpu"),
      reservedCpus: valueOf(parseCpuSet(node.reservedSystemCPUs ?? "")),
      topologyPolicy: node.topologyManagerPolicy,
    },
    machineTopology(node.machineInfo),
  );
  return valueOf(startCpuManager(valueOf(policy), newState));
}

function startedMemory(node: EncodedNodeManagers): MemoryManager {
  const policy = memoryPolicy(
    {
      policy: node.memoryManagerPolicy,
      nodeReservation: resourceList(node.nodeReservation),
      reservedMemory: (node.reservedMemory ?? []).map(({ numaNode = 0, limits }) => ({
        numaNode,
        limits: resourceList(limits),
      })),
    },
    machineTopology(node.machineInfo).numaNodes,
  );
  return valueOf(startMemoryManager(valueOf(policy), newState));
}

const newState = {
  file: undefined,
  filePath: "/STATEDIR/state",
  containers: new Map<string, never>(),
};

function valueOf<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}
