import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import {
  type CgroupSetting,
  checkedRoot,
  childFolders,
  insideRoot,
  processesIn,
  readSetting,
  tryWrite,
  writeSettings,
} from "./cgroup-files.ts";
import type { CgroupMounts } from "./cgroup-mounts.ts";
import { removeCgroup } from "./cgroup-removal.ts";
import { hugePageSettings } from "./huge-pages.ts";

const neededControllers = ["cpu", "cpuacct", "cpuset", "memory", "systemd", "pids", "hugetlb"];

export interface CgroupsV1Options {
  /** The cgroup that holds all pods. */
  readonly root: string;
  readonly mounts: CgroupMounts;
  readonly hugePageSizes: readonly bigint[];
}

/** Cgroups with one hierarchy per controller. */
export class CgroupsV1 implements Cgroups {
  readonly version = 1;
  readonly #root: string;
  readonly #controllers: ReadonlyMap<string, string>;
  /** Where a cgroup is made, and where it is looked for: a runtime may use the unified hierarchy too. */
  readonly #mountPoints: readonly string[];
  readonly #allMountPoints: readonly string[];
  readonly #hugePageSizes: readonly bigint[];
  /** By path: limits must end up as they were last asked for. */
  readonly #turns = new KeyedTurns();

  constructor({ root, mounts, hugePageSizes }: CgroupsV1Options) {
    this.#root = checkedRoot(root);
    this.#controllers = mounts.v1;
    this.#mountPoints = [...new Set(mounts.v1.values())];
    this.#allMountPoints =
      mounts.v2 === undefined ? this.#mountPoints : [...this.#mountPoints, mounts.v2];
    this.#hugePageSizes = hugePageSizes;
  }

  exists(path: string): boolean {
    return neededControllers
      .map((controller) => this.#controllers.get(controller))
      .every((mountPoint) => mountPoint === undefined || existsSync(join(mountPoint, path)));
  }

  async create(path: string, resources: CgroupResources): Promise<void> {
    insideRoot(path, this.#root);
    // Not in the agent's own thread: the kernel makes one cgroup after the other, and a dozen for a pod take milliseconds.
    const missing = this.#mountPoints
      .map((mountPoint) => join(mountPoint, path))
      .filter((folder) => !existsSync(folder));
    await Promise.all(missing.map((folder) => mkdir(folder, { recursive: true, mode: 0o755 })));
    const cpuset = this.#controllers.get("cpuset");
    if (cpuset !== undefined) await inheritCpuset(cpuset, path);
    await this.update(path, resources);
  }

  async update(path: string, resources: CgroupResources): Promise<void> {
    insideRoot(path, this.#root);
    await this.#turns.run(path, () => this.#set(path, resources));
  }

  async #set(path: string, resources: CgroupResources): Promise<void> {
    const refused = [
      ...(await this.#write("cpu", path, sharesSettings(resources))),
      ...(await this.#writeQuota(path, resources)),
      ...(await this.#write("memory", path, memorySettings(resources))),
      ...(await this.#write("pids", path, pidsSettings(resources))),
      ...(await this.#write(
        "hugetlb",
        path,
        hugePageSettings(resources.hugePageLimits, this.#hugePageSizes, "limit_in_bytes"),
      )),
    ];
    if (refused.length > 0) throw new Error(`cgroup ${path}: ${refused.join("; ")}`);
  }

  read(path: string): CgroupResources {
    const cpu = this.#folder("cpu", path);
    const memory = this.#folder("memory", path);
    return {
      cpuShares: Number(readSetting(cpu, "cpu.shares")),
      cpuQuotaUs: Number(readSetting(cpu, "cpu.cfs_quota_us")),
      cpuPeriodUs: Number(readSetting(cpu, "cpu.cfs_period_us")),
      memoryBytes: BigInt(readSetting(memory, "memory.limit_in_bytes")),
    };
  }

  readMemoryUsageBytes(path: string): bigint {
    return BigInt(readSetting(this.#folder("memory", path), "memory.usage_in_bytes"));
  }

  listChildren(path: string): readonly string[] {
    return [...new Set(this.#folders(path).flatMap(childFolders))];
  }

  listPids(path: string): readonly number[] {
    return [...new Set(this.#folders(path).flatMap(processesIn))];
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    const folders = this.#folders(insideRoot(path, this.#root));
    await removeCgroup(folders.filter(existsSync), signal);
  }

  #folders(path: string): string[] {
    return this.#allMountPoints.map((mountPoint) => join(mountPoint, path));
  }

  #folder(controller: string, path: string): string {
    const mountPoint = this.#controllers.get(controller);
    if (mountPoint === undefined) {
      throw new Error(`the ${controller} controller of cgroup v1 is not mounted`);
    }
    return join(mountPoint, path);
  }

  /** What a controller would limit stays without limit where it is not mounted. */
  async #write(
    controller: string,
    path: string,
    settings: readonly CgroupSetting[],
  ): Promise<string[]> {
    const mountPoint = this.#controllers.get(controller);
    return mountPoint === undefined ? [] : await writeSettings(join(mountPoint, path), settings);
  }

  async #writeQuota(
    path: string,
    { cpuQuotaUs = 0, cpuPeriodUs = 0 }: CgroupResources,
  ): Promise<string[]> {
    const quota = { file: "cpu.cfs_quota_us", value: String(cpuQuotaUs) };
    const period = { file: "cpu.cfs_period_us", value: String(cpuPeriodUs) };
    if (cpuQuotaUs === 0) return this.#write("cpu", path, cpuPeriodUs === 0 ? [] : [period]);
    if (cpuPeriodUs === 0) return this.#write("cpu", path, [quota]);
    // A shorter period can exceed the parent's share until the quota is lower, and the other way round.
    const isPeriodFirst = (await this.#write("cpu", path, [period])).length === 0;
    return this.#write("cpu", path, isPeriodFirst ? [quota] : [quota, period]);
  }
}

function sharesSettings({ cpuShares = 0 }: CgroupResources): CgroupSetting[] {
  return cpuShares === 0 ? [] : [{ file: "cpu.shares", value: String(cpuShares) }];
}

function memorySettings({ memoryBytes = 0n }: CgroupResources): CgroupSetting[] {
  return memoryBytes === 0n ? [] : [{ file: "memory.limit_in_bytes", value: String(memoryBytes) }];
}

function pidsSettings({ pidsLimit }: CgroupResources): CgroupSetting[] {
  if (pidsLimit === undefined) return [];
  return [{ file: "pids.max", value: pidsLimit > 0 ? String(pidsLimit) : "max" }];
}

/** No task can enter a cgroup without CPUs and memory nodes, and a new one has none. */
async function inheritCpuset(mountPoint: string, path: string): Promise<void> {
  const parent = dirname(path);
  if (parent !== "/") await inheritCpuset(mountPoint, parent);
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    if (readSetting(join(mountPoint, path), file) !== "") continue;
    const inherited = readSetting(join(mountPoint, parent), file);
    const error = await tryWrite(join(mountPoint, path, file), inherited);
    if (error !== undefined) {
      throw new Error(`cannot write ${inherited} to ${join(mountPoint, path, file)}: ${error}`);
    }
  }
}
