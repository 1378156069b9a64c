import { readdir, readFile, readlink } from "node:fs/promises";
import type { ProcessUsage } from "../../ports/host-usage.ts";

/** What processes hold; one that ended meanwhile holds nothing. */
export async function readProcesses(pids: readonly number[]): Promise<ProcessUsage> {
  let descriptors = 0;
  let sockets = 0;
  for (const pid of pids) {
    const folder = `/proc/${pid}/fd`;
    const names = await readdir(folder).catch(() => []);
    descriptors += names.length;
    for (const name of names) {
      const target = await readlink(`${folder}/${name}`).catch(() => "");
      if (target.startsWith("socket:")) sockets += 1;
    }
  }
  const [first] = pids;
  const maxOpenFiles = first === undefined ? undefined : await readMaxOpenFiles(first);
  return { descriptors, sockets, maxOpenFiles };
}

async function readMaxOpenFiles(pid: number): Promise<number | undefined> {
  const limits = await readFile(`/proc/${pid}/limits`, "utf8").catch(() => "");
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? -1 : Number(soft);
}
