import { defaultManagerOptions, managerSettings } from "../../src/app/manager-options.ts";
import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { simTopology } from "../../src/drivers/sim/sim-topology.ts";
import { Holders } from "../../src/engine/devices/holders.ts";
import type { ManagerSettings } from "../../src/engine/devices/manager-settings.ts";
import { NodeManagers } from "../../src/engine/devices/node-managers.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import { VirtualClock } from "../sim/virtual-clock.ts";
import { silentLog } from "./silent-log.ts";

/** No container has CPUs or memory of its own. */
export const noPinning: ManagerSettings = managerSettings(
  defaultManagerOptions,
  simTopology,
  new Map(),
);

/** The managers of a node that hands nothing out, for parts that only ask what containers have. */
export function idleManagers(): NodeManagers {
  const active = { has: () => false };
  const sources = { areAllReady: true };
  return new NodeManagers({
    settings: { node: { managers: noPinning } },
    rootFolder: "/data",
    files: new MemoryFiles(),
    runtime: { listContainers: () => Promise.resolve([]) },
    holders: new Holders({ table: new PodTable(), active, sources }),
    wakeups: { lookAtCpus: () => undefined },
    clock: new VirtualClock(),
    log: silentLog,
    lifetime: new AbortController().signal,
  });
}
