import type { CgroupResources } from "../../model/cgroup.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Log } from "../../ports/log.ts";
import {
  resourceProperties,
  roundedQuota,
  type SystemdUnits,
  sliceProperties,
} from "./systemd-units.ts";

export interface SystemdCgroupsDeps {
  /** Reads and writes the files of cgroups, below the same root. */
  readonly files: Cgroups;
  readonly units: () => Promise<SystemdUnits>;
  readonly log: Log;
}

/**
 * Cgroups that systemd knows as slices: it makes them, and keeps their limits when it sets its own up again. What
 * systemd has no word for is written beside it.
 */
export class SystemdCgroups implements Cgroups {
  readonly #deps: SystemdCgroupsDeps;

  constructor(deps: SystemdCgroupsDeps) {
    this.#deps = deps;
  }

  get version(): 1 | 2 {
    return this.#deps.files.version;
  }

  exists(path: string): boolean {
    return this.#deps.files.exists(path);
  }

  async create(path: string, resources: CgroupResources): Promise<void> {
    const { files, units } = this.#deps;
    const rounded = roundedQuota(resources);
    const { slice, parent } = sliceOf(path);
    await (await units()).startSlice(slice, sliceProperties(parent, rounded, files.version));
    await files.create(path, rounded);
  }

  /** In force at once; systemd is notified a moment later. */
  async update(path: string, resources: CgroupResources): Promise<void> {
    const rounded = roundedQuota(resources);
    await this.#deps.files.update(path, rounded);
    void this.#notify(path, rounded);
  }

  read(path: string): CgroupResources {
    return this.#deps.files.read(path);
  }

  readMemoryUsageBytes(path: string): bigint {
    return this.#deps.files.readMemoryUsageBytes(path);
  }

  listChildren(path: string): readonly string[] {
    return this.#deps.files.listChildren(path);
  }

  listPids(path: string): readonly number[] {
    return this.#deps.files.listPids(path);
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    const { files, units } = this.#deps;
    await files.remove(path, signal);
    await (await units()).stopSlice(sliceOf(path).slice);
  }

  async #notify(path: string, resources: CgroupResources): Promise<void> {
    const { files, units, log } = this.#deps;
    const properties = resourceProperties(resources, files.version);
    if (properties.length === 0) return;
    try {
      await (await units()).setProperties(sliceOf(path).slice, properties);
    } catch (error) {
      log.warn("systemd did not take the limits of a slice", {
        cgroup: path,
        error: String(error),
      });
    }
  }
}

/** The unit of a path such as /kubepods.slice/kubepods-burstable.slice, and the one above it. */
function sliceOf(path: string): { readonly slice: string; readonly parent: string | undefined } {
  const names = path.split("/").filter((name) => name !== "");
  const slice = names.at(-1);
  if (slice === undefined || !slice.endsWith(".slice")) {
    throw new Error(`cgroup ${path} is not a systemd slice`);
  }
  return { slice, parent: names.at(-2) };
}
