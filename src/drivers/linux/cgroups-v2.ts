import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import {
  type CgroupSetting,
  checkedRoot,
  childFolders,
  insideRoot,
  isGone,
  processesIn,
  readSetting,
  tryWrite,
  writeSettings,
} from "./cgroup-files.ts";
import { removeCgroup } from "./cgroup-removal.ts";
import { hugePageSettings } from "./huge-pages.ts";

const neededControllers = ["cpu", "cpuset", "memory", "hugetlb", "pids"];
const defaultPeriodUs = 100_000;

export interface CgroupsV2Options {
  /** The cgroup that holds all pods. */
  readonly root: string;
  /** Where the unified hierarchy is mounted. */
  readonly mountPoint: string;
  readonly hugePageSizes: readonly bigint[];
}

/** Cgroups in the unified hierarchy. */
export class CgroupsV2 implements Cgroups {
  readonly version = 2;
  readonly #root: string;
  readonly #mountPoint: string;
  readonly #hugePageSizes: readonly bigint[];
  readonly #available: readonly string[];
  /** By path: limits must end up as they were last asked for. */
  readonly #turns = new KeyedTurns();

  constructor({ root, mountPoint, hugePageSizes }: CgroupsV2Options) {
    this.#root = checkedRoot(root);
    this.#mountPoint = mountPoint;
    this.#hugePageSizes = hugePageSizes;
    this.#available = readControllers(mountPoint);
  }

  exists(path: string): boolean {
    try {
      const enabled = readControllers(this.#folder(path));
      return this.#available
        .filter((controller) => neededControllers.includes(controller))
        .every((controller) => enabled.includes(controller));
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  async create(path: string, resources: CgroupResources): Promise<void> {
    insideRoot(path, this.#root);
    let folder = this.#mountPoint;
    for (const name of path.split("/").slice(1)) {
      await enableControllers(folder, this.#available);
      folder = join(folder, name);
      mkdirSync(folder, { recursive: true, mode: 0o755 });
    }
    await this.update(path, resources);
  }

  async update(path: string, resources: CgroupResources): Promise<void> {
    insideRoot(path, this.#root);
    await this.#turns.run(path, () => this.#set(path, resources));
  }

  async #set(path: string, resources: CgroupResources): Promise<void> {
    const hugePages = this.#available.includes("hugetlb")
      ? hugePageSettings(resources.hugePageLimits, this.#hugePageSizes, "max")
      : [];
    const refused = await writeSettings(this.#folder(path), [...settings(resources), ...hugePages]);
    if (refused.length > 0) throw new Error(`cgroup ${path}: ${refused.join("; ")}`);
  }

  read(path: string): CgroupResources {
    const folder = this.#folder(path);
    const [quota = "", period] = readSetting(folder, "cpu.max").split(" ");
    const memory = readSetting(folder, "memory.max");
    return {
      cpuShares: weightToShares(Number(readSetting(folder, "cpu.weight"))),
      cpuQuotaUs: quota === "max" ? -1 : Number(quota),
      cpuPeriodUs: Number(period),
      memoryBytes: memory === "max" ? -1n : BigInt(memory),
    };
  }

  readMemoryUsageBytes(path: string): bigint {
    return BigInt(readSetting(this.#folder(path), "memory.current"));
  }

  listChildren(path: string): readonly string[] {
    return childFolders(this.#folder(path));
  }

  listPids(path: string): readonly number[] {
    return processesIn(this.#folder(path));
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    await removeCgroup([this.#folder(insideRoot(path, this.#root))], signal);
  }

  #folder(path: string): string {
    return join(this.#mountPoint, path);
  }
}

function settings(resources: CgroupResources): CgroupSetting[] {
  const { cpuShares = 0, cpuQuotaUs = 0, cpuPeriodUs = 0, memoryBytes = 0n } = resources;
  const { pidsLimit, unified = {} } = resources;
  const found: CgroupSetting[] = [];
  if (cpuShares !== 0) found.push({ file: "cpu.weight", value: String(sharesToWeight(cpuShares)) });
  if (cpuQuotaUs !== 0 || cpuPeriodUs !== 0) {
    const quota = cpuQuotaUs > 0 ? String(cpuQuotaUs) : "max";
    found.push({ file: "cpu.max", value: `${quota} ${cpuPeriodUs || defaultPeriodUs}` });
  }
  if (memoryBytes !== 0n) {
    found.push({ file: "memory.max", value: memoryBytes < 0n ? "max" : String(memoryBytes) });
  }
  if (pidsLimit !== undefined) {
    found.push({ file: "pids.max", value: pidsLimit > 0 ? String(pidsLimit) : "max" });
  }
  const extra = Object.entries(unified).map(([file, value]) => ({ file, value }));
  return [...found, ...extra];
}

/** A controller works in a cgroup only when all those above it pass it on. */
async function enableControllers(folder: string, controllers: readonly string[]): Promise<void> {
  const file = join(folder, "cgroup.subtree_control");
  const all = controllers.map((controller) => `+${controller}`);
  if ((await tryWrite(file, all.join(" "))) === undefined) return;
  // One that cannot be passed on does not keep the others back; what is then missing shows when it is set.
  for (const one of all) await tryWrite(file, one);
}

function readControllers(folder: string): string[] {
  return readSetting(folder, "cgroup.controllers").split(/\s+/);
}

/** CPU shares, 2 to 262144, as a weight of 1 to 10000. */
function sharesToWeight(shares: number): number {
  return shares >= 262_144 ? 10_000 : 1 + Math.trunc(((shares - 2) * 9999) / 262_142);
}

/** The shares that a weight corresponds to. */
export function weightToShares(weight: number): number {
  return Math.trunc(((weight - 1) * 262_142) / 9999) + 2;
}
