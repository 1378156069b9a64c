import type { CheckResult } from "../../lib/check-result.ts";
import type { Machine } from "../../model/machine.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";
import { checkDataDir, checkDiskSpace, checkForwarding, checkLinks } from "./preflight-host.ts";
import {
  checkCapabilities,
  checkCgroups,
  checkCniPlugins,
  checkKernel,
  checkOverlay,
  checkRoot,
} from "./preflight-machine.ts";
import { checkNode } from "./preflight-node.ts";
import { checkEvents, checkRuntime } from "./preflight-runtime.ts";
import { checkTool } from "./preflight-tools.ts";

export interface PreflightOptions {
  readonly machine: Machine;
  readonly dataDir: string;
  /** Berth brings its own containerd, and so needs what that needs. */
  readonly managed: boolean;
  /** A runtime that should be answering, with the event sources to try on it, best first. */
  readonly runtime?: {
    readonly client: Pick<ContainerRuntime, "version" | "status">;
    readonly events: readonly RuntimeEvents[];
  };
}

/** Looks whether Berth can run here; changes nothing. */
export async function runPreflight(
  options: PreflightOptions,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const { machine, dataDir, managed, runtime } = options;
  return [
    checkRoot(machine),
    checkCapabilities(machine),
    checkKernel(machine),
    checkNode(process.version, Date.now()),
    checkCgroups(machine),
    ...(managed ? await checkManaged(machine) : []),
    await checkForwarding(managed),
    await checkDataDir(dataDir),
    await checkDiskSpace(dataDir),
    ...(runtime === undefined
      ? []
      : [
          ...(await checkRuntime(runtime.client, signal)),
          await checkEvents(runtime.events, signal),
        ]),
  ];
}

async function checkManaged(machine: Machine): Promise<readonly CheckResult[]> {
  return [
    checkOverlay(machine),
    await checkLinks(machine),
    await checkTool(machine, "containerd", "containerd"),
    await checkTool(machine, "runc", "runc"),
    await checkTool(machine, "iptables", "iptables"),
    checkCniPlugins(machine),
  ];
}
