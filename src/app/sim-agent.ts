// The agent on a simulated machine: no root, no containers, any clock.

import { createHash } from "node:crypto";
import { usersBeyondTheNodes, usualUsersPerPod } from "../core/cri/user-namespace.ts";
import { allocateResponseCodec } from "../drivers/device-plugins/allocate-response.ts";
import type { MemoryFiles } from "../drivers/sim/memory-files.ts";
import type { SimCgroups } from "../drivers/sim/sim-cgroups.ts";
import {
  simDevicePlugins,
  simDraPlugins,
  simPodResourcesApi,
} from "../drivers/sim/sim-device-plugins.ts";
import type { SimEvents } from "../drivers/sim/sim-events.ts";
import type { SimForeignFiles } from "../drivers/sim/sim-foreign-files.ts";
import type { SimHistory } from "../drivers/sim/sim-history.ts";
import {
  simCgroupStats,
  simHookHttp,
  simHostUsage,
  simKernelLog,
  simLogFiles,
  simMemoryGauge,
  simNodeFacts,
  simShutdown,
} from "../drivers/sim/sim-host.ts";
import type { SimMounts } from "../drivers/sim/sim-mounts.ts";
import type { SimPayloadFiles } from "../drivers/sim/sim-payload-files.ts";
import { createSimProbeRunner } from "../drivers/sim/sim-probe-runner.ts";
import type { SimRuntime } from "../drivers/sim/sim-runtime.ts";
import {
  simCommands,
  simCsiDrivers,
  simDevices,
  simPluginSockets,
} from "../drivers/sim/sim-storage.ts";
import { simTopology } from "../drivers/sim/sim-topology.ts";
import type { AgentPorts, TelemetryPorts } from "../engine/agent/agent-ports.ts";
import type { AgentSettings } from "../engine/agent/agent-settings.ts";
import { berthVersion } from "../lib/version.ts";
import type { Clock } from "../ports/clock.ts";
import type { HostFiles } from "../ports/host-files.ts";
import { parseEviction } from "./eviction-options.ts";
import { defaultImageSetup } from "./image-options.ts";
import { defaultLogRotation } from "./log-rotation-options.ts";
import { defaultManagerOptions, managerSettings } from "./manager-options.ts";
import { defaultNodeCgroups } from "./node-cgroups.ts";
import { plainNodeSettings } from "./node-options.ts";
import { parseSecurity } from "./security-options.ts";

const rootFolder = "/sim";
const podLogsRoot = "/sim-logs";
export const simHostIp = "10.0.0.1";

/** All that outlasts an agent on it: containers, files, mounts, cgroups. */
export interface SimMachine {
  readonly clock: Clock;
  readonly files: MemoryFiles;
  readonly payloadFiles: SimPayloadFiles;
  readonly foreignFiles: SimForeignFiles;
  readonly mounts: SimMounts;
  readonly cgroups: SimCgroups;
  readonly historyStore: SimHistory;
  readonly events: SimEvents;
  readonly runtime: SimRuntime;
}

/** What an agent on that machine sees of the world, but for where its pods come from. */
export function simPorts(
  machine: Omit<SimMachine, "files"> & { readonly files: HostFiles },
  given: Pick<AgentPorts, "podSources" | "random" | "apiServer" | keyof TelemetryPorts>,
): AgentPorts {
  const { clock, events, cgroups, ...rest } = machine;
  const nowMs = (): number => clock.nowMs();
  let names = 0;
  return {
    ...given,
    ...rest,
    clock,
    uniqueName: () => {
      names += 1;
      return `${nowMs().toString(16)}${names.toString(16)}`;
    },
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    eventSources: [events],
    pullProgress: undefined,
    credentialPlugins: defaultImageSetup.plugins,
    hookHttp: simHookHttp,
    probeRunner: createSimProbeRunner(rest.runtime),
    logFiles: simLogFiles,
    commands: simCommands,
    devices: simDevices,
    csiDrivers: simCsiDrivers,
    pluginSockets: simPluginSockets,
    devicePlugins: simDevicePlugins,
    draPlugins: simDraPlugins,
    podResourcesApi: simPodResourcesApi,
    allocateResponses: allocateResponseCodec,
    hostCgroups: cgroups,
    cgroupsAt: () => cgroups,
    cgroupStats: simCgroupStats(nowMs),
    memoryGauge: simMemoryGauge,
    hostUsage: simHostUsage(nowMs),
    kernelLog: simKernelLog,
    shutdownService: simShutdown,
    nodeFacts: simNodeFacts,
    readNodeDns: () =>
      Promise.resolve({
        clusterDns: [],
        clusterDomain: "",
        nodeIps: [simHostIp],
        resolverConfig: undefined,
      }),
  };
}

/** The settings of an agent on a simulated machine. */
export function simSettings(nodeName: string): AgentSettings {
  const registration = plainNodeSettings(nodeName, { name: "sim", features: undefined });
  const resources = {
    cpu: "64",
    memory: "64Gi",
    "ephemeral-storage": "1000Gi",
    pods: String(registration.maxPods),
  };
  const node = {
    metadata: { name: nodeName, labels: { "kubernetes.io/os": "linux" } },
    status: { capacity: resources, allocatable: resources },
  };
  const { sysctls } = parseSecurity({});
  return {
    identity: {
      version: berthVersion,
      nodeName,
      runtimeName: "sim",
      runtimeVersion: "1.0.0",
      runtimeEndpoint: "simulated",
    },
    rootFolder,
    node: {
      admission: { node, sysctls, appArmorEnabled: false, fieldRules: "strict" },
      hostIps: [simHostIp],
      clusterDomain: "",
      registration,
      shutdownPeriods: [],
      managers: simManagers,
      devicePluginFolder: `${rootFolder}/device-plugins`,
    },
    runtimeSettings: simRuntimeSettings,
    cgroups: { root: ["kubepods"], driver: "cgroupfs", node: defaultNodeCgroups, system: {} },
    images: {
      pulls: defaultImageSetup.pulls,
      credentialProviders: [],
      verification: defaultImageSetup.verification,
    },
    logs: { areLinked: false, rotation: defaultLogRotation },
    pods: {
      volumeStatsMs: 60_000,
      claimsFolder: "/sim-volumes",
      volumeHealth: true,
    },
    eviction: parseEviction(),
  };
}

/** Without CPUs or memory of their own. */
const simManagers = managerSettings(defaultManagerOptions, simTopology, new Map());

const simRuntimeSettings: AgentSettings["runtimeSettings"] = {
  podLogsRoot,
  seccompProfileRoot: `${rootFolder}/seccomp`,
  seccompDefault: false,
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsPeriodUs: 100_000,
  singleProcessOomKill: false,
  memoryCapacityBytes: 64 * 1024 ** 3,
  swap: { controllerAvailable: false, behavior: "NoSwap", capacityBytes: 0 },
  hugePageSizes: [],
  extraMaskedPaths: [],
  seLinux: undefined,
  podUsers: usersBeyondTheNodes(usualUsersPerPod),
  containerStopSignals: false,
};
