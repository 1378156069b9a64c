import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupMounts } from "./cgroup-mounts.ts";

/** Cgroups of processes that belong to no pod: the agent's own, and the system's. */
export class SystemCgroups {
  readonly #roots: readonly string[];
  readonly #procFolder: string;

  constructor({ v1, v2 }: CgroupMounts, procFolder = "/proc") {
    // Controllers that are mounted together are one hierarchy; systemd's own is not touched.
    const controllers = [...v1].filter(([name]) => name !== "systemd").map(([, path]) => path);
    this.#roots = v1.size > 0 ? [...new Set(controllers)] : v2 === undefined ? [] : [v2];
    this.#procFolder = procFolder;
  }

  /** Moves a process into a cgroup, which is made where it is missing. It stays where it is if it is there already. */
  join(path: string, pid: number): void {
    for (const root of this.#roots) {
      const folder = join(root, path);
      if (!existsSync(folder)) {
        mkdirSync(folder, { recursive: true });
        copyCpuset(root, path);
      }
      if (!pidsOf(folder).includes(pid)) writeFileSync(join(folder, "cgroup.procs"), `${pid}\n`);
    }
  }

  /** Processes directly in the root cgroup, without the first one and threads of the kernel. */
  listRootProcesses(): readonly number[] {
    const found = new Set(this.#roots.flatMap(pidsOf));
    return [...found].filter((pid) => pid !== 1 && this.#hasProgram(pid));
  }

  #hasProgram(pid: number): boolean {
    try {
      return readFileSync(join(this.#procFolder, String(pid), "cmdline"), "latin1") !== "";
    } catch {
      return false;
    }
  }
}

function pidsOf(folder: string): readonly number[] {
  return readFileSync(join(folder, "cgroup.procs"), "latin1")
    .split("\n")
    .filter((line) => line !== "")
    .map(Number);
}

/** On cgroup v1 no process can enter a cpuset that names no CPUs. */
function copyCpuset(root: string, path: string): void {
  let folder = root;
  for (const part of path.split("/").filter((name) => name !== "")) {
    const parent = folder;
    folder = join(folder, part);
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      if (!existsSync(join(parent, file)) || !existsSync(join(folder, file))) continue;
      const own = readFileSync(join(folder, file), "latin1").trim();
      if (own === "") writeFileSync(join(folder, file), readFileSync(join(parent, file)));
    }
  }
}
