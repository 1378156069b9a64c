import { Backoff } from "../../lib/backoff.ts";
import { sleep } from "../../lib/timers.ts";
import { processesIn, removeFolder, removeFolders, tryWrite } from "./cgroup-files.ts";

const maxAttempts = 12;
const retryLimits = { initialMs: 5, maxMs: 500 };

/** Kills what runs in the folders of a cgroup and removes them; a killed process takes a moment to go. */
export async function removeCgroup(folders: readonly string[], signal: AbortSignal): Promise<void> {
  // Most are empty by the time they are removed: the kernel removes no other.
  const occupied = folders.filter((folder) => !removeFolder(folder));
  if (occupied.length > 0) await removeOccupied(occupied, signal);
}

async function removeOccupied(folders: readonly string[], signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(retryLimits);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    signal.throwIfAborted();
    for (const folder of folders) await killProcesses(folder);
    const left = folders.filter((folder) => !removeFolders(folder));
    if (left.length === 0) return;
    await sleep(backoff.nextMs(), signal);
  }
  const left = folders.filter((folder) => !removeFolders(folder));
  if (left.length === 0) return;
  const pids = [...new Set(left.flatMap(processesIn))];
  throw new Error(
    `cannot remove ${left.join(", ")}: ${pids.length === 0 ? "the kernel still holds it" : `processes ${pids.join(", ")} do not end`}`,
  );
}

async function killProcesses(folder: string): Promise<void> {
  // One write of v2 kills all at once, also what is being forked.
  await tryWrite(`${folder}/cgroup.kill`, "1");
  for (const pid of processesIn(folder)) {
    if (pid === process.pid) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      const isEnded = error instanceof Error && "code" in error && error.code === "ESRCH";
      if (!isEnded) throw error;
    }
  }
}
