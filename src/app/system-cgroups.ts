// Keeps the agent, and the processes of the system, in the cgroups that the configuration names for them.

import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { openSystemCgroups } from "../drivers/linux/open-cgroups.ts";
import type { SystemCgroups } from "../drivers/linux/system-cgroups.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import { sleep } from "../lib/timers.ts";
import type { Log } from "../ports/log.ts";

const lookMs = 60_000;

type CgroupNames = Pick<KubeletConfiguration, "kubeletCgroups" | "systemCgroups">;

/** Moves them now, and again every minute until `signal` aborts. */
export async function keepSystemCgroups(
  names: CgroupNames,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (names.kubeletCgroups === "" && names.systemCgroups === "") return;
  const cgroups = openSystemCgroups();
  while (!signal.aborted) {
    try {
      moveProcesses(names, cgroups);
    } catch (error) {
      log.warn("cannot move processes to their cgroups", { error: errorText(error) });
    }
    await sleep(lookMs, signal).catch(() => undefined);
  }
}

/** Throws a SetupError that names the field. */
export function requireSystemCgroups({ systemCgroups }: CgroupNames): void {
  if (systemCgroups !== "/") return;
  throw new SetupError(
    'systemCgroups: system container cannot be root ("/")',
    "name a cgroup below it",
  );
}

export function moveProcesses(
  { kubeletCgroups, systemCgroups }: CgroupNames,
  cgroups: Pick<SystemCgroups, "join" | "listRootProcesses">,
): void {
  if (kubeletCgroups !== "") cgroups.join(kubeletCgroups, process.pid);
  if (systemCgroups === "") return;
  const errors: unknown[] = [];
  for (const pid of cgroups.listRootProcesses()) {
    try {
      cgroups.join(systemCgroups, pid);
    } catch (error) {
      // It may have ended; others are moved all the same.
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, errorText(errors[0]));
}
