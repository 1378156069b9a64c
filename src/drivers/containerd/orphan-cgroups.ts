import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";

/** Where the kernel shows cgroups: one hierarchy, or a folder for each. */
const mountPoint = "/sys/fs/cgroup";

/**
 * Cgroups of containers, in every hierarchy, that lie below a root and of which the runtime has nothing: runc was killed
 * before it had written down what it made, or while it removed it, and nothing else would ever remove them.
 */
export async function findOrphanCgroups(
  root: string,
  bundlesFolder: string,
): Promise<readonly string[]> {
  // First the cgroups: a container has its bundle before its cgroup, and for longer.
  const found: string[] = [];
  for (const hierarchy of await hierarchies()) {
    found.push(...(await containerCgroupsBelow(join(hierarchy, root))));
  }
  if (found.length === 0) return [];
  const bundles = new Set(await bundlesIn(bundlesFolder));
  return found.filter((folder) => !bundles.has(containerIdOf(folder) ?? ""));
}

/** Throws when they cannot be listed: containers whose bundles are not seen must not be taken for ended ones. */
async function bundlesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}

async function hierarchies(): Promise<readonly string[]> {
  const entries = await readdir(mountPoint, { withFileTypes: true });
  if (entries.some(({ name }) => name === "cgroup.controllers")) return [mountPoint];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(mountPoint, name));
}

async function containerCgroupsBelow(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await foldersIn(folder)) {
    const inner = join(folder, name);
    if (containerIdOf(inner) === undefined) found.push(...(await containerCgroupsBelow(inner)));
    else found.push(inner);
  }
  return found;
}

/** Of a name such as ID or cri-containerd-ID.scope. */
function containerIdOf(folder: string): string | undefined {
  return /^(?:cri-containerd-)?([0-9a-f]{64})(?:\.scope)?$/.exec(basename(folder))?.[1];
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
