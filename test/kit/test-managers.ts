import { defaultManagerOptions, managerSettings } from "../../src/app/manager-options.ts";
import { allocateResponseCodec } from "../../src/drivers/device-plugins/allocate-response.ts";
import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { simDevicePlugins, simDraPlugins } from "../../src/drivers/sim/sim-device-plugins.ts";
import { simTopology } from "../../src/drivers/sim/sim-topology.ts";
import type { Wakeups } from "../../src/engine/agent/wakeups.ts";
import { ClaimResources } from "../../src/engine/devices/claim-resources.ts";
import { DeviceAllocator } from "../../src/engine/devices/device-allocator.ts";
import { DeviceEndpoints } from "../../src/engine/devices/device-endpoints.ts";
import { DeviceStore } from "../../src/engine/devices/device-store.ts";
import { DraEndpoints } from "../../src/engine/devices/dra-endpoints.ts";
import { Holders } from "../../src/engine/devices/holders.ts";
import { ManagerMetrics } from "../../src/engine/devices/manager-metrics.ts";
import type { ManagerSettings } from "../../src/engine/devices/manager-settings.ts";
import { NodeManagers } from "../../src/engine/devices/node-managers.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import type { ApiClient } from "../../src/ports/api-client.ts";
import type { DevicePlugins } from "../../src/ports/device-plugins.ts";
import type { DraPlugins } from "../../src/ports/dra-plugins.ts";
import type { Metrics } from "../../src/ports/metrics.ts";
import { VirtualClock } from "../sim/virtual-clock.ts";
import { noMetrics } from "./no-metrics.ts";
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
  readonly draPlugins?: DraPlugins;
  readonly apiServer?: { readonly api: ApiClient };
  readonly clock?: VirtualClock;
  readonly metrics?: Metrics;
}

/** Real managers with their files in memory. */
export function testManagers(given: TestManagersDeps): {
  readonly managers: NodeManagers;
  readonly store: DeviceStore;
  readonly endpoints: DeviceEndpoints;
  readonly draEndpoints: DraEndpoints;
  readonly claimResources: ClaimResources;
  readonly managerMetrics: ManagerMetrics;
  readonly clock: VirtualClock;
} {
  const { files, clock = new VirtualClock(), metrics = noMetrics } = given;
  const { devicePlugins = simDevicePlugins, draPlugins = simDraPlugins } = given;
  const managerMetrics = new ManagerMetrics({ ...given, metrics, clock });
  const shared = {
    ...given,
    devicePlugins,
    clock,
    log: silentLog,
    rootFolder: "/data",
    settings: { node: { ...given.settings.node, devicePluginFolder: "/data/device-plugins" } },
    allocateResponses: allocateResponseCodec,
    lifetime: new AbortController().signal,
    managerMetrics,
  };
  const store = new DeviceStore(shared);
  const endpoints = new DeviceEndpoints({ ...shared, store });
  const devices = new DeviceAllocator({ ...shared, store, endpoints });
  const draEndpoints = new DraEndpoints({ ...shared, nodeName: "node", draPlugins });
  const claimResources = new ClaimResources({ ...shared, endpoints: draEndpoints });
  const runtime = { listContainers: () => Promise.resolve([]) };
  const ports = { files, runtime, clock, log: silentLog };
  const managers = new NodeManagers({ ...shared, ports, devices, claimResources });
  return { managers, store, endpoints, draEndpoints, claimResources, managerMetrics, clock };
}

/** The managers of a node that hands nothing out, for parts that only ask what containers have. */
export function idleManagers(): NodeManagers {
  return idleDevices().managers;
}

/** The same with what else a node without devices has. */
export function idleDevices(): ReturnType<typeof testManagers> {
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
  });
}
