import type { ContainerPlace } from "../../core/cri/container-inputs.ts";
import { ContainerLifecycle } from "../../core/devices/container-lifecycle.ts";
import { type CpuManager, startCpuManager } from "../../core/devices/cpu/cpu-manager.ts";
import { exclusiveCpuCount } from "../../core/devices/cpu/exclusive-cpus.ts";
import { describeHoldings } from "../../core/devices/describe-holdings.ts";
import { describeResources } from "../../core/devices/describe-resources.ts";
import {
  type MemoryManager,
  startMemoryManager,
} from "../../core/devices/memory/memory-manager.ts";
import { type DeviceOptions, withCdiDevices } from "../../core/devices/plugin/device-options.ts";
import type { ResourceManagers } from "../../core/devices/pod-resources.ts";
import {
  type AdmissionFailure,
  admissionFailure,
} from "../../core/devices/topology/allocation-error.ts";
import type { ContainerRef } from "../../core/devices/topology/container-ref.ts";
import {
  type HintProvider,
  TopologyManager,
} from "../../core/devices/topology/topology-manager.ts";
import { podQosClass } from "../../core/resource/qos.ts";
import { assert } from "../../lib/assert.ts";
import { errorText } from "../../lib/error-text.ts";
import { ok, type Result } from "../../lib/result.ts";
import { SetupError } from "../../lib/setup-error.ts";
import type { CpuSet } from "../../model/cpu-set.ts";
import type { Node, PodStatus } from "../../model/generated/kubernetes.ts";
import type { Holding, ManagerPolicies, NodeResource } from "../../model/holding.ts";
import type { PodUid } from "../../model/ids.ts";
import { type AnyContainer, type Pod, podContainers } from "../../model/pod.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ClaimResources } from "./claim-resources.ts";
import type { DeviceAllocator } from "./device-allocator.ts";
import type { Holders } from "./holders.ts";
import { type KnownContainersDeps, knownContainers } from "./known-containers.ts";
import type { ManagerMetrics } from "./manager-metrics.ts";
import type { ManagerSettings } from "./manager-settings.ts";
import { Rehearsal } from "./rehearsal.ts";
import { StateFile } from "./state-file.ts";

export interface NodeManagersDeps extends KnownContainersDeps {
  readonly settings: { readonly node: { readonly managers: ManagerSettings } };
  readonly ports: KnownContainersDeps["ports"] & {
    readonly files: Pick<HostFiles, "readText" | "writeFile">;
  };
  readonly rootFolder: string;
  readonly holders: Holders;
  readonly devices: DeviceAllocator;
  readonly claimResources: Pick<ClaimResources, "start" | "manager" | "cdiDevices" | "withHealth">;
  readonly managerMetrics: Pick<ManagerMetrics, "start" | "countCpus" | "countMemory" | "collect">;
  readonly wakeups: Pick<Wakeups, "lookAtCpus">;
}

interface StartedManagers {
  readonly cpus: CpuManager;
  readonly memory: MemoryManager;
  readonly topology: TopologyManager;
  readonly lifecycle: ContainerLifecycle;
}

/** Hands out CPUs, memory and devices to containers, and remembers who has which in the files of a kubelet. */
export class NodeManagers {
  readonly #deps: NodeManagersDeps;
  readonly #cpuFile: StateFile;
  readonly #memoryFile: StateFile;
  #started: StartedManagers | undefined;

  constructor(deps: NodeManagersDeps) {
    const { ports, rootFolder } = deps;
    this.#deps = deps;
    this.#cpuFile = new StateFile(ports.files, `${rootFolder}/cpu_manager_state`);
    this.#memoryFile = new StateFile(ports.files, `${rootFolder}/memory_manager_state`);
  }

  /** Takes over what the agent or kubelet before this one handed out. Throws a SetupError when that does not fit the settings. */
  async start(): Promise<void> {
    const { cpu, memory, topology } = this.#settings;
    await this.#deps.devices.start();
    await this.#deps.claimResources.start();
    const cpuText = await this.#cpuFile.read();
    const memoryText = await this.#memoryFile.read();
    const isNew = cpuText === undefined && memoryText === undefined;
    const needsContainers = !isNew && (cpu.name !== "none" || memory.name !== "None");
    const containers = needsContainers ? await knownContainers(this.#deps) : new Map();
    const cpus = started(
      this.#cpuFile,
      startCpuManager(cpu, { file: cpuText, filePath: this.#cpuFile.path, containers }),
    );
    const memoryManager = started(
      this.#memoryFile,
      startMemoryManager(memory, { file: memoryText, filePath: this.#memoryFile.path, containers }),
    );
    const { devices, managerMetrics } = this.#deps;
    managerMetrics.start();
    const providers = [
      devices.provider,
      this.#withoutStale(cpus, managerMetrics.countCpus(cpus)),
      this.#withoutStale(memoryManager, managerMetrics.countMemory(memoryManager)),
    ];
    const topologyManager = new TopologyManager(topology, providers);
    this.#started = {
      cpus,
      memory: memoryManager,
      topology: topologyManager,
      lifecycle: new ContainerLifecycle(cpus, memoryManager, topologyManager),
    };
    await this.#save();
  }

  /** What the CPU manager has; undefined while nothing is handed out yet. */
  get cpus(): CpuManager | undefined {
    return this.#started?.cpus;
  }

  /** Who has what, without what pods had that are gone. */
  handedOut(): ResourceManagers {
    const { devices, claimResources } = this.#deps;
    const { cpus, memory } = this.#managers;
    return { cpus, memory, devices: devices.current(), dra: claimResources.manager };
  }

  /** Whether a pod that ends holds something, which it is about to give back. */
  isReleaseDue(): boolean {
    return this.#deps.holders.ending().some((uid) => this.#holds(uid));
  }

  #holds(uid: PodUid): boolean {
    const { cpus, memory } = this.#managers;
    return (
      cpus.state.assignments.has(uid) ||
      memory.state.assignments.has(uid) ||
      this.#deps.devices.holds(uid)
    );
  }

  /** What the pod's containers have for themselves and why, for people to read. */
  holdings(pod: Pod): readonly Holding[] {
    if (this.#started === undefined) return [];
    return describeHoldings(this.handedOut(), this.#started.topology, pod);
  }

  /** What is left of the node's resources; nothing is known before anything is handed out. */
  resources(node: Node): readonly NodeResource[] {
    return this.#started === undefined ? [] : describeResources(this.handedOut(), node);
  }

  get policies(): ManagerPolicies {
    const { cpu, memory, topology } = this.#settings;
    const { name, scope } = topology;
    return { cpu: cpu.name, memory: memory.name, topology: name, topologyScope: scope };
  }

  /** To try what pods would get now. */
  rehearse(): Rehearsal {
    return new Rehearsal(this.handedOut(), this.#settings.topology, this.#deps.devices.rehearse());
  }

  /** Sets the gauges of what is handed out now. */
  collectMetrics(): void {
    const { managerMetrics, claimResources } = this.#deps;
    if (this.#started === undefined) return;
    managerMetrics.collect(this.#started.cpus, claimResources.manager.claims.all());
  }

  /** Whether any container of the pod gets CPUs, memory or devices of its own. */
  concerns(pod: Pod): boolean {
    return this.#deps.devices.concerns(pod) || this.#isPinned(pod);
  }

  /** Whether a container that is to have CPUs or memory of its own has none: the end of a former life of the pod took them back. */
  lacks(pod: Pod): boolean {
    if (!this.#isPinned(pod)) return false;
    const { cpus, memory } = this.#managers;
    const isStatic = this.#settings.memory.name === "Static";
    return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) => {
      const ref = { podUid: pod.metadata.uid, container: container.name };
      if (cpus.pins(pod, container) && cpus.exclusiveCpus(ref).length === 0) return true;
      return isStatic && memory.nodesFor(ref).length === 0;
    });
  }

  #isPinned(pod: Pod): boolean {
    if (!this.#pins || podQosClass(pod) !== "Guaranteed") return false;
    if (this.#settings.memory.name === "Static") return true;
    return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some(
      (container) => exclusiveCpuCount(pod, container) > 0,
    );
  }

  /** Hands out what the pod asks for and does not have yet; where that fails, it keeps what it has. One pod at a time: the next one counts on what this one got. */
  async admit(pod: Pod): Promise<AdmissionFailure | undefined> {
    const { cpus, topology } = this.#managers;
    const before = cpus.state.shared;
    const failure = await topology.admit(pod, this.#holds(pod.metadata.uid));
    this.#noteShared(before);
    await this.#save();
    const unsaved = await this.#deps.devices.save();
    return failure ?? (unsaved === undefined ? undefined : admissionFailure({ message: unsaved }));
  }

  /** The pod's containers have ended. */
  async release(uid: PodUid): Promise<void> {
    this.#started?.topology.releasePod(uid);
    await this.#deps.devices.release(uid);
    if (!this.#pins) return;
    const { cpus, memory } = this.#managers;
    const before = cpus.state.shared;
    cpus.releasePod(uid);
    memory.releasePod(uid);
    this.#noteShared(before);
    await this.#save();
  }

  /** Takes back what belongs to pods that are gone. */
  async releaseStale(): Promise<void> {
    const { cpus, memory } = this.#managers;
    this.#removeStale(cpus);
    this.#removeStale(memory);
    await this.#save();
  }

  place(pod: Pod, container: AnyContainer): ContainerPlace | undefined {
    if (!this.#pins) return undefined;
    const { lifecycle } = this.#managers;
    const place = lifecycle.beforeCreation(pod, container);
    return { ...place, hasExclusiveCpus: this.isFreeOfQuota(pod, container) };
  }

  /** What a container's config gets for the devices that it has; undefined when it has none. */
  async deviceOptions(
    pod: Pod,
    container: AnyContainer,
  ): Promise<Result<DeviceOptions | undefined, string>> {
    const ref = { podUid: pod.metadata.uid, container: container.name };
    const affinity = this.#managers.topology.affinity(ref);
    const { devices, claimResources } = this.#deps;
    const options = await devices.options(pod, container, affinity);
    if (!options.ok) return options;
    const claimed = claimResources.cdiDevices(pod, container);
    if (!claimed.ok) return claimed;
    return claimed.value.length === 0 ? options : ok(withCdiDevices(options.value, claimed.value));
  }

  /** The status with the health of the devices that the pod's containers have. */
  withHealth(pod: Pod, status: PodStatus): PodStatus {
    if (!this.#settings.gates.reportsHealth) return status;
    const { devices, claimResources } = this.#deps;
    return claimResources.withHealth(pod, devices.withHealth(pod.metadata.uid, status));
  }

  /** Whether its CPUs are its own, and need no quota. */
  isFreeOfQuota(pod: Pod, { name }: Pick<AnyContainer, "name">): boolean {
    if (this.#settings.gates.keepsQuota) return false;
    return this.exclusiveCpus({ podUid: pod.metadata.uid, container: name }).length > 0;
  }

  podIsFreeOfQuota(pod: Pod): boolean {
    if (this.#settings.cpu.exclusive === undefined) return false;
    return podContainers(pod).some(({ container }) => this.isFreeOfQuota(pod, container));
  }

  exclusiveCpus(ref: ContainerRef): CpuSet {
    return this.#started?.cpus.exclusiveCpus(ref) ?? [];
  }

  /** A container was created and is about to be started. */
  async noteStarting(pod: Pod, container: AnyContainer, containerId: string): Promise<void> {
    if (!this.#pins) return;
    this.#managers.lifecycle.beforeStart(pod, container, containerId);
    await this.#save();
  }

  get #settings(): ManagerSettings {
    return this.#deps.settings.node.managers;
  }

  /** Whether any container can get CPUs or memory of its own. */
  get #pins(): boolean {
    const { cpu, memory } = this.#settings;
    return cpu.exclusive !== undefined || memory.name === "Static";
  }

  get #managers(): StartedManagers {
    assert(this.#started !== undefined, "the managers are used before they were started");
    return this.#started;
  }

  /** Containers without CPUs of their own get those that are left; they need not wait for the next look. */
  #noteShared(before: CpuSet): void {
    if (before !== this.#managers.cpus.state.shared) this.#deps.wakeups.lookAtCpus();
  }

  #withoutStale(manager: CpuManager | MemoryManager, provider: HintProvider): HintProvider {
    const current = (): HintProvider => {
      this.#removeStale(manager);
      return provider;
    };
    return {
      hints: (pod, container) => current().hints(pod, container),
      podHints: (pod) => current().podHints(pod),
      allocate: (pod, container, affinity) => current().allocate(pod, container, affinity),
    };
  }

  #removeStale(manager: CpuManager | MemoryManager): void {
    const { holders } = this.#deps;
    if (holders.areKnown) manager.removeStale((ref) => holders.isStale(ref));
  }

  /** A full disk must not keep pods from running; what could not be written is tried again with the next change. */
  async #save(): Promise<void> {
    const { cpus, memory } = this.#managers;
    for (const [file, text] of [
      [this.#cpuFile, cpus.takeCheckpoint()],
      [this.#memoryFile, memory.takeCheckpoint()],
    ] as const) {
      await file.save(text).catch((error: unknown) => {
        const fields = { file: file.path, error: errorText(error) };
        this.#deps.ports.log.error("cannot write down what containers hold", fields);
      });
    }
  }
}

function started<T>({ path }: StateFile, result: Result<T, string>): T {
  if (result.ok) return result.value;
  throw new SetupError(
    result.error,
    `remove ${path} once no pod runs here, or restore the settings`,
  );
}
