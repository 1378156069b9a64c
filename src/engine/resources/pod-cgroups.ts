import { cgroupResourcesInForce } from "../../core/observe/observed-resources.ts";
import {
  type CgroupDriver,
  type CgroupName,
  cgroupPath,
  parseCgroupPath,
  podCgroupName,
  podCgroupNameIn,
  podUidOfCgroup,
  qosCgroupName,
} from "../../core/resource/cgroup-name.ts";
import {
  type CpuQuotaPolicy,
  type MemoryReserve,
  podCgroupResources,
  qosCgroupResources,
} from "../../core/resource/cgroup-resources.ts";
import {
  classMemory,
  classMemoryFiles,
  type MemoryQos,
  podMemoryFiles,
} from "../../core/resource/memory-qos.ts";
import type { QosClass } from "../../core/resource/qos.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedResources } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { NodeManagers } from "../devices/node-managers.ts";
import type { ActivePods } from "../pods/active-pods.ts";

const qosClasses: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

export interface PodCgroupSettings {
  readonly driver: CgroupDriver;
  /** The cgroup of all pods, such as kubepods. */
  readonly root: CgroupName;
  readonly cpuQuota: CpuQuotaPolicy;
  /** What all pods together may take. */
  readonly rootResources?: CgroupResources | undefined;
  /** False leaves pods to the runtime's own cgroups. */
  readonly perQos?: boolean | undefined;
  /** How many processes a pod may have; undefined = any number. */
  readonly podPidsLimit?: number | undefined;
  readonly memoryReserve?: MemoryReserve | undefined;
  /** Undefined = off, or the machine has cgroup v1. */
  readonly memoryQos?: MemoryQos | undefined;
}

export interface PodCgroupsDeps {
  readonly hostCgroups: Cgroups;
  readonly settings: PodCgroupSettings;
  readonly active: Pick<ActivePods, "listGranted">;
  readonly managers: Pick<NodeManagers, "podIsFreeOfQuota">;
  readonly lifetime: AbortSignal;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "observe" | "set">;
}

/** The cgroups of pods below one root: kubepods, its classes burstable and besteffort, and one per pod. */
export class NodePodCgroups {
  readonly #deps: PodCgroupsDeps;

  constructor(deps: PodCgroupsDeps) {
    this.#deps = deps;
  }

  /** As the runtime gets it; empty when it decides itself. */
  path(pod: Pod): string {
    return this.#perQos ? this.#path(podCgroupName(this.#settings.root, pod)) : "";
  }

  exists(pod: Pod): boolean {
    return !this.#perQos || this.#deps.hostCgroups.exists(this.path(pod));
  }

  /** The cgroup of all pods. */
  get rootPath(): string {
    return this.#path(this.#settings.root);
  }

  /** The cgroups of the classes that have one. */
  get classPaths(): readonly string[] {
    if (!this.#perQos) return [];
    const { root } = this.#settings;
    return [qosCgroupName(root, "Burstable"), qosCgroupName(root, "BestEffort")].map((name) =>
      this.#path(name),
    );
  }

  /** The cgroups of pods by UID. */
  podPaths(): ReadonlyMap<PodUid, string> {
    return new Map(this.#found().map(({ uid, path }) => [uid, path]));
  }

  /** What the cgroup of the pod should be set to. */
  wanted(pod: Pod): CgroupResources {
    const { cpuQuota } = this.#settings;
    // CPUs of one's own need no quota.
    const isFree = this.#deps.managers.podIsFreeOfQuota(pod);
    return podCgroupResources(pod, isFree ? { ...cpuQuota, enforceCpuLimits: false } : cpuQuota);
  }

  /** Throws when the pod has no cgroup of its own. */
  read(pod: Pod): CgroupResources {
    if (!this.#perQos) throw new Error("pods have no cgroups of their own (cgroupsPerQOS)");
    return this.#deps.hostCgroups.read(this.path(pod));
  }

  /** What the pod has by its cgroup; undefined where that cannot be read. */
  inForce(pod: Pod): ObservedResources | undefined {
    try {
      return cgroupResourcesInForce(this.read(pod));
    } catch {
      return undefined;
    }
  }

  async update(pod: Pod, resources: CgroupResources): Promise<void> {
    const startedAtMs = this.#deps.clock.monotonicMs();
    await this.#deps.hostCgroups.update(this.path(pod), resources);
    this.#observe("update", startedAtMs);
  }

  memoryUsageBytes(pod: Pod): bigint {
    return this.#deps.hostCgroups.readMemoryUsageBytes(this.path(pod));
  }

  /** Creates the pod's cgroup with its limits; rejects, naming the file, when the kernel refuses one. */
  async ensure(pod: Pod): Promise<void> {
    if (!this.#perQos) return;
    const { hostCgroups, clock } = this.#deps;
    const { podPidsLimit: pidsLimit, memoryQos } = this.#settings;
    await this.ensureShared();
    const startedAtMs = clock.monotonicMs();
    const unified = memoryQos && podMemoryFiles(pod, memoryQos);
    await hostCgroups.create(this.path(pod), { ...this.wanted(pod), pidsLimit, unified });
    this.#observe("create", startedAtMs);
  }

  /** Makes the cgroups above those of pods, and brings their limits in line with the pods that run. */
  async ensureShared(): Promise<void> {
    if (!this.#perQos) return;
    const { hostCgroups } = this.#deps;
    const { rootPath } = this;
    // Its limits are enforced when the agent starts: they may have to wait until pods take less.
    if (!hostCgroups.exists(rootPath))
      await hostCgroups.create(rootPath, this.#settings.rootResources ?? {});
    const { burstable, bestEffort } = this.#classResources();
    const unified = await this.#ensureMemoryQos();
    await this.#ensureClass("Burstable", { ...burstable, unified });
    await this.#ensureClass("BestEffort", bestEffort);
  }

  /** Sets the limits of the cgroup of all pods; rejects when the kernel refuses one. */
  async enforceRoot(): Promise<void> {
    const { rootResources } = this.#settings;
    if (rootResources !== undefined)
      await this.#deps.hostCgroups.update(this.rootPath, rootResources);
  }

  async remove(pod: Pod): Promise<void> {
    if (this.#perQos) await this.#remove(this.path(pod));
  }

  /** UIDs of pods that have a cgroup. */
  list(): readonly PodUid[] {
    return this.#found().map(({ uid }) => uid);
  }

  /** Where its class is not known: a pod lies in one of them, and a list of all pods' cgroups is long. */
  async removeByUid(uid: PodUid): Promise<void> {
    if (!this.#perQos) return;
    const { hostCgroups, lifetime } = this.#deps;
    const { root } = this.#settings;
    for (const qosClass of qosClasses) {
      const path = this.#path(podCgroupNameIn(root, qosClass, uid));
      if (hostCgroups.exists(path)) await this.#remove(path);
      // Some hierarchies may still have it.
      else await hostCgroups.remove(path, lifetime);
    }
  }

  async #remove(path: string): Promise<void> {
    const { hostCgroups, clock, lifetime } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    await hostCgroups.remove(path, lifetime);
    this.#observe("destroy", startedAtMs);
  }

  #observe(operation: "create" | "update" | "destroy", startedAtMs: number): void {
    const { clock, metrics } = this.#deps;
    const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
    metrics.observe("kubelet_cgroup_manager_duration_seconds", seconds, {
      operation_type: operation,
    });
  }

  get #settings(): PodCgroupSettings {
    return this.#deps.settings;
  }

  get #perQos(): boolean {
    return this.#settings.perQos !== false;
  }

  #classResources() {
    return qosCgroupResources(this.#deps.active.listGranted(), this.#settings.memoryReserve);
  }

  /** Has the cgroup of all pods keep what is kept for those in it; answers what the class burstable keeps. */
  async #ensureMemoryQos(): Promise<CgroupResources["unified"]> {
    const { active, metrics, hostCgroups } = this.#deps;
    const { memoryQos } = this.#settings;
    if (memoryQos === undefined) return undefined;
    const memory = classMemory(active.listGranted(), memoryQos);
    metrics.set("kubelet_memory_qos_node_memory_min_bytes", Number(memory.guaranteedBytes));
    metrics.set("kubelet_memory_qos_node_memory_low_bytes", Number(memory.burstableBytes));
    const { root, burstable } = classMemoryFiles(memory);
    await hostCgroups.update(this.rootPath, { unified: root });
    return burstable;
  }

  async #ensureClass(qosClass: QosClass, resources: CgroupResources): Promise<void> {
    const { hostCgroups } = this.#deps;
    const path = this.#path(qosCgroupName(this.#settings.root, qosClass));
    if (!hostCgroups.exists(path)) return await hostCgroups.create(path, resources);
    try {
      await hostCgroups.update(path, resources);
    } catch (error) {
      // The class may take more than it should: then it is kept from taking even more.
      const { memoryBytes } = resources;
      const usageBytes = memoryBytes === undefined ? 0n : hostCgroups.readMemoryUsageBytes(path);
      if (memoryBytes === undefined || usageBytes <= memoryBytes) throw error;
      await hostCgroups.update(path, { ...resources, memoryBytes: usageBytes });
    }
  }

  #found(): { readonly uid: PodUid; readonly path: string }[] {
    const { root, driver } = this.#settings;
    if (!this.#perQos) return [];
    return [this.rootPath, ...this.classPaths].flatMap((parent) =>
      this.#deps.hostCgroups.listChildren(parent).flatMap((child) => {
        const path = `${parent}/${child}`;
        const uid = podUidOfCgroup(root, parseCgroupPath(path, driver));
        return uid === undefined ? [] : [{ uid, path }];
      }),
    );
  }

  #path(name: CgroupName): string {
    const path = cgroupPath(name, this.#settings.driver);
    if (!path.ok) throw new Error(`cgroup ${name.join("/")}: ${path.error}`);
    return path.value;
  }
}
