import type { CgroupResources } from "../../model/cgroup.ts";
import type { Cgroups } from "../../ports/cgroups.ts";

/** Cgroups in memory, without processes. */
export class SimCgroups implements Cgroups {
  readonly version = 2;
  readonly #cgroups = new Map<string, CgroupResources>();

  /** Every cgroup there is. */
  get paths(): readonly string[] {
    return [...this.#cgroups.keys()];
  }

  exists(path: string): boolean {
    return this.#cgroups.has(path);
  }

  async create(path: string, resources: CgroupResources): Promise<void> {
    const parts = path.split("/").slice(1);
    for (const [index] of parts.entries()) {
      const above = `/${parts.slice(0, index + 1).join("/")}`;
      if (!this.#cgroups.has(above)) this.#cgroups.set(above, {});
    }
    await this.update(path, resources);
  }

  async update(path: string, resources: CgroupResources): Promise<void> {
    const before = this.#cgroups.get(path);
    if (before === undefined) throw new Error(`there is no cgroup ${path}`);
    this.#cgroups.set(path, { ...before, ...resources });
  }

  read(path: string): CgroupResources {
    const resources = this.#cgroups.get(path);
    if (resources === undefined) throw new Error(`there is no cgroup ${path}`);
    return { memoryBytes: -1n, ...resources };
  }

  readMemoryUsageBytes(): bigint {
    return 0n;
  }

  listChildren(path: string): readonly string[] {
    const below = this.paths.filter((one) => one.startsWith(`${path}/`));
    return [...new Set(below.map((one) => one.slice(path.length + 1).split("/")[0] ?? ""))];
  }

  listPids(): readonly number[] {
    return [];
  }

  remove(path: string): Promise<void> {
    for (const one of this.paths) {
      if (one === path || one.startsWith(`${path}/`)) this.#cgroups.delete(one);
    }
    return Promise.resolve();
  }
}
