import { defaultManagerOptions, managerSettings } from "../../src/app/manager-options.ts";
import { allocateResponseCodec } from "../../src/drivers/device-plugins/allocate-response.ts";
import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { simDevicePlugins } from "../../src/drivers/sim/sim-device-plugins.ts";
import { simTopology } from "../../src/drivers/sim/sim-topology.ts";
import type { Wakeups } from "../../src/engine/agent/wakeups.ts";
import { DeviceAllocator } from "../../src/engine/devices/device-allocator.ts";
import { DeviceEndpoints } from "../../src/engine/devices/device-endpoints.ts";
import { DeviceStore } from "../../src/engine/devices/device-store.ts";
import { Holders } from "../../src/engine/devices/holders.ts";
import type { ManagerSettings } from "../../src/engine/devices/manager-settings.ts";
import { NodeManagers } from "../../src/engine/devices/node-managers.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import type { DevicePlugins } from "../../src/ports/device-plugins.ts";
import { VirtualClock } from "../sim/virtual-clock.ts";
import { silentLog } from "./silent-log.ts";

/** No container has CPUs or memory of its own. */
export const noPinning: ManagerSettings = managerSettings(
  defaultManagerOptions,
  simTopology,
  new Map(),
);

interface TestManagersDeps {
  readonly table: PodTable;
  readonly files: MemoryFiles;
  readonly settings: { readonly node: { readonly managers: ManagerSettings } };
  readonly holders: Holders;
  readonly wakeups: Pick<Wakeups, "lookAtCpus" | "look" | "updateNode">;
  readonly devicePlugins?: DevicePlugins;
}

/** Real managers with their files in memory. */
export function testManagers(given: TestManagersDeps): {
  readonly managers: NodeManagers;
  readonly store: DeviceStore;
  readonly endpoints: DeviceEndpoints;
} {
  const clock = new VirtualClock();
  const { files, devicePlugins = simDevicePlugins } = given;
  const shared = {
    ...given,
    devicePlugins,
    clock,
    log: silentLog,
    rootFolder: "/data",
    allocateResponses: allocateResponseCodec,
    lifetime: new AbortController().signal,
  };
  const store = new DeviceStore(shared);
  const endpoints = new DeviceEndpoints({ ...shared, store });
  const devices = new DeviceAllocator({ ...shared, store, endpoints });
  const runtime = { listContainers: () => Promise.resolve([]) };
  const ports = { files, runtime, clock, log: silentLog };
  return { managers: new NodeManagers({ ...shared, ports, devices }), store, endpoints };
}

/** The managers of a node that hands nothing out, for parts that only ask what containers have. */
export function idleManagers(): NodeManagers {
  const table = new PodTable();
  const holders = new Holders({
    table,
    active: { has: () => false },
    sources: { areAllReady: true },
  });
  const nothing = (): void => undefined;
  return testManagers({
    table,
    files: new MemoryFiles(),
    settings: { node: { managers: noPinning } },
    holders,
    wakeups: { lookAtCpus: nothing, look: nothing, updateNode: nothing },
  }).managers;
}
