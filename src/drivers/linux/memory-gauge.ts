import { openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import type { MemoryGauge } from "../../ports/memory-gauge.ts";
import type { CgroupMounts } from "./cgroup-mounts.ts";

const meminfoBytes = 8192;

/** Reads /proc/meminfo for the machine and one counter for a cgroup. */
export class ProcMemoryGauge implements MemoryGauge {
  readonly #meminfo: number;
  readonly #buffer = Buffer.alloc(meminfoBytes);
  readonly #usageFile: (cgroup: string) => string;

  constructor(mounts: CgroupMounts, meminfo = "/proc/meminfo") {
    // Kept open: a read at its beginning is always the present, at a fifth of the cost.
    this.#meminfo = openSync(meminfo, "r");
    const v1 = mounts.v1.get("memory");
    this.#usageFile =
      v1 === undefined
        ? (cgroup) => join(mounts.v2 ?? "", cgroup, "memory.current")
        : (cgroup) => join(v1, cgroup, "memory.usage_in_bytes");
  }

  usedBytes(cgroup: string): number | undefined {
    return cgroup === "/" ? this.#machineBytes() : readCounter(this.#usageFile(cgroup));
  }

  /** Programs' own pages and cached files, without the part of these that goes first. */
  #machineBytes(): number | undefined {
    const length = readSync(this.#meminfo, this.#buffer, 0, meminfoBytes, 0);
    const text = this.#buffer.toString("latin1", 0, length);
    const anonymous = field(text, "AnonPages");
    const cached = field(text, "Cached");
    const buffers = field(text, "Buffers");
    const inactive = field(text, "Inactive(file)");
    if (anonymous === undefined || cached === undefined || buffers === undefined) return undefined;
    return (anonymous + cached + buffers - (inactive ?? 0)) * 1024;
  }
}

function field(text: string, name: string): number | undefined {
  const start = text.startsWith(`${name}:`) ? 0 : text.indexOf(`\n${name}:`);
  if (start < 0) return undefined;
  const value = Number.parseInt(text.slice(text.indexOf(":", start) + 1, start + 40), 10);
  return Number.isNaN(value) ? undefined : value;
}

function readCounter(path: string): number | undefined {
  try {
    return Number(readFileSync(path, "latin1"));
  } catch {
    return undefined;
  }
}
