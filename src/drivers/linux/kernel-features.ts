import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Whether the kernel confines processes by AppArmor profiles. */
export function isAppArmorEnabled(): boolean {
  return readText("/sys/module/apparmor/parameters/enabled").startsWith("Y");
}

/** Whether the kernel can limit the swap of a cgroup. */
export function hasSwapController(cgroupVersion: 1 | 2): boolean {
  if (cgroupVersion === 1) return existsSync("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes");
  // The root of the hierarchy has no such file, so the agent's own cgroup is checked.
  const own = /^0::(.*)$/m.exec(readText("/proc/self/cgroup"))?.[1] ?? "";
  return existsSync(join("/sys/fs/cgroup", own, "memory.swap.max"));
}

/** Folders from which a container could learn what its neighbours do by how hot the CPUs get. */
export function listThermalFolders(cpus = "/sys/devices/system/cpu"): readonly string[] {
  if (!existsSync(cpus)) return [];
  return readdirSync(cpus)
    .filter((name) => /^cpu\d+$/.test(name))
    .toSorted((a, b) => Number(a.slice(3)) - Number(b.slice(3)))
    .map((name) => join(cpus, name, "thermal_throttle"))
    .filter((path) => existsSync(path));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
