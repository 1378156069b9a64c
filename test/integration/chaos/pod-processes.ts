import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { findCgroups } from "../support/leftovers.ts";

/** A process in a container or sandbox of a pod, as the kernel has it. */
export interface PodProcess {
  readonly pid: number;
  readonly uid: string;
  readonly containerId: string;
}

/** A folder of a cgroup below that of all pods. */
export interface PodCgroup {
  readonly folder: string;
  readonly uid: string;
  /** Undefined for the cgroup of a whole pod. */
  readonly containerId: string | undefined;
}

/** The cgroups of pods, in every hierarchy. */
export function podCgroups(
  bridge: string,
  roots: readonly string[] = findCgroups(`/${bridge}`),
): readonly PodCgroup[] {
  return roots.flatMap((root) =>
    foldersBelow(root).flatMap((folder): readonly PodCgroup[] => {
      const [, uid] = /\/pod([0-9a-f-]+)(?:\/|$)/.exec(folder) ?? [];
      if (uid === undefined) return [];
      const name = basename(folder);
      return [{ folder, uid, containerId: name === `pod${uid}` ? undefined : name }];
    }),
  );
}

/** The first process of every container and sandbox. */
export function podProcesses(bridge: string): readonly PodProcess[] {
  const found = new Map<number, PodProcess>();
  // Every process is in each of the hierarchies.
  const roots = findCgroups(`/${bridge}`);
  const root = roots.find((path) => path.includes("/pids/")) ?? roots[0];
  if (root === undefined) return [];
  for (const { folder, uid, containerId } of podCgroups(bridge, [root])) {
    const pid = Number(readText(join(folder, "cgroup.procs")).split("\n")[0]);
    if (containerId !== undefined && pid > 0) found.set(pid, { pid, uid, containerId });
  }
  return [...found.values()];
}

/** A variable in the environment of a process; undefined when it has none, or has ended. */
export function variableOf(pid: number, name: string): string | undefined {
  const words = readText(`/proc/${pid}/environ`).split("\0");
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

function foldersBelow(folder: string): readonly string[] {
  const inner = namesIn(folder).flatMap((name) => foldersBelow(join(folder, name)));
  return [folder, ...inner];
}

// Cgroups come and go while they are read.
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Empty when it is not there, or not any more. */
export function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
