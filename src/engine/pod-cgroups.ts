import { cgroupResourcesInForce } from "../core/observe/observed-resources.ts";
import {
  type CgroupDriver,
  type CgroupName,
  cgroupPath,
  parseCgroupPath,
  podCgroupName,
  podUidOfCgroup,
  qosCgroupName,
} from "../core/resource/cgroup-name.ts";
import {
  type CpuQuotaPolicy,
  podCgroupResources,
  qosCgroupResources,
} from "../core/resource/cgroup-resources.ts";
import type { CgroupResources } from "../model/cgroup.ts";
import type { ObservedResources } from "../model/observed.ts";
import type { Pod } from "../model/pod.ts";
import type { Cgroups } from "../ports/cgroups.ts";

export interface PodCgroupsDeps {
  readonly cgroups: Cgroups;
  readonly driver: CgroupDriver;
  /** The cgroup of all pods, such as kubepods. */
  readonly root: CgroupName;
  readonly cpuQuota: CpuQuotaPolicy;
  /** The pods that run now: the classes' shares follow from them. */
  readonly activePods: () => readonly Pod[];
  readonly lifetime: AbortSignal;
}

/** The cgroups of pods below one root: kubepods, its classes burstable and besteffort, and one per pod. */
export class NodePodCgroups {
  readonly #deps: PodCgroupsDeps;

  constructor(deps: PodCgroupsDeps) {
    this.#deps = deps;
  }

  /** As the runtime is told. */
  path(pod: Pod): string {
    return this.#path(podCgroupName(this.#deps.root, pod));
  }

  exists(pod: Pod): boolean {
    return this.#deps.cgroups.exists(this.path(pod));
  }

  /** What the cgroup of the pod should be set to. */
  wanted(pod: Pod): CgroupResources {
    return podCgroupResources(pod, this.#deps.cpuQuota);
  }

  read(pod: Pod): CgroupResources {
    return this.#deps.cgroups.read(this.path(pod));
  }

  /** What the pod has by its cgroup; undefined where that cannot be read. */
  inForce(pod: Pod): ObservedResources | undefined {
    try {
      return cgroupResourcesInForce(this.read(pod));
    } catch {
      return undefined;
    }
  }

  update(pod: Pod, resources: CgroupResources): void {
    this.#deps.cgroups.update(this.path(pod), resources);
  }

  memoryUsageBytes(pod: Pod): bigint {
    return this.#deps.cgroups.readMemoryUsageBytes(this.path(pod));
  }

  ensure(pod: Pod): Promise<void> {
    const { cgroups, root, activePods } = this.#deps;
    const { burstable, bestEffort } = qosCgroupResources(activePods());
    cgroups.create(this.#path(root), {});
    cgroups.create(this.#path(qosCgroupName(root, "Burstable")), burstable);
    cgroups.create(this.#path(qosCgroupName(root, "BestEffort")), bestEffort);
    cgroups.create(this.path(pod), this.wanted(pod));
    return Promise.resolve();
  }

  async remove(pod: Pod): Promise<void> {
    await this.#deps.cgroups.remove(this.path(pod), this.#deps.lifetime);
  }

  /** UIDs of pods that have a cgroup. */
  list(): readonly string[] {
    return this.#found().map(({ uid }) => uid);
  }

  async removeByUid(uid: string): Promise<void> {
    for (const found of this.#found()) {
      if (found.uid === uid) await this.#deps.cgroups.remove(found.path, this.#deps.lifetime);
    }
  }

  /** Removes the root with all that is in it. */
  async removeAll(): Promise<void> {
    await this.#deps.cgroups.remove(this.#path(this.#deps.root), this.#deps.lifetime);
  }

  #found(): { readonly uid: string; readonly path: string }[] {
    const { cgroups, root, driver } = this.#deps;
    const parents = [root, qosCgroupName(root, "Burstable"), qosCgroupName(root, "BestEffort")].map(
      (name) => this.#path(name),
    );
    return parents.flatMap((parent) =>
      cgroups.listChildren(parent).flatMap((child) => {
        const path = `${parent}/${child}`;
        const uid = podUidOfCgroup(root, parseCgroupPath(path, driver));
        return uid === undefined ? [] : [{ uid, path }];
      }),
    );
  }

  #path(name: CgroupName): string {
    const path = cgroupPath(name, this.#deps.driver);
    if (!path.ok) throw new Error(`cgroup ${name.join("/")}: ${path.error}`);
    return path.value;
  }
}
