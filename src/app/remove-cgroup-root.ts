import { cgroupRootProblem } from "../drivers/linux/cgroup-files.ts";
import { openCgroups } from "../drivers/linux/open-cgroups.ts";
import type { Log } from "../ports/log.ts";

/** Removes the cgroup of all pods. One that no agent accepts holds none, and is not a reason to keep the rest. */
export async function removeCgroupRoot(root: string, log: Log, signal: AbortSignal): Promise<void> {
  const problem = cgroupRootProblem(root);
  if (problem === undefined) await openCgroups(root).remove(root, signal);
  else log.warn("no cgroup is removed: none can have been made", { problem });
}
