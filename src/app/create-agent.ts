// Puts the engine on this machine's drivers.
import { createHash, randomBytes } from "node:crypto";
import { totalmem, uptime } from "node:os";
import type { AdmissionFacts } from "../core/admission/admit-pod.ts";
import type { RuntimeSettings } from "../core/cri/runtime-settings.ts";
import { usersBeyondTheNodes, usualUsersPerPod } from "../core/cri/user-namespace.ts";
import type { NodeDns } from "../core/network/dns-config.ts";
import { resolverConfigProblem } from "../core/network/resolver-config.ts";
import type { CgroupDriver } from "../core/resource/cgroup-name.ts";
import { createContainerdEvents } from "../drivers/containerd/containerd-events.ts";
import { ContainerdPullProgress } from "../drivers/containerd/pull-progress.ts";
import { createCriEvents } from "../drivers/cri/cri-events.ts";
import type { CriRuntime } from "../drivers/cri/cri-runtime.ts";
import { createCsiDrivers } from "../drivers/csi/csi-drivers.ts";
import { allocateResponseCodec } from "../drivers/device-plugins/allocate-response.ts";
import { devicePlugins } from "../drivers/device-plugins/device-plugins.ts";
import { DiskHistory, type HistoryLimits } from "../drivers/disk/disk-history.ts";
import { createDraPlugins } from "../drivers/dra/dra-plugins.ts";
import { podKeys } from "../drivers/kube/pod-keys.ts";
import { blockDevices } from "../drivers/linux/block-devices.ts";
import { linuxCommands } from "../drivers/linux/commands.ts";
import { linuxDeviceTree } from "../drivers/linux/device-tree.ts";
import { linuxForeignFiles } from "../drivers/linux/foreign-files.ts";
import { ForeignHelpers } from "../drivers/linux/foreign-helpers.ts";
import { newHookHttp } from "../drivers/linux/hook-http.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { linuxHostUsage } from "../drivers/linux/host-usage.ts";
import { readHugePageSizes } from "../drivers/linux/huge-pages.ts";
import { HungPaths } from "../drivers/linux/hung-paths.ts";
import { hasSwapController, listThermalFolders } from "../drivers/linux/kernel-features.ts";
import { DeviceKernelLog } from "../drivers/linux/kernel-log.ts";
import { logFiles } from "../drivers/linux/log-files.ts";
import { createMachineTopologyReader } from "../drivers/linux/machine-topology.ts";
import { linuxMounts } from "../drivers/linux/mounts.ts";
import { linuxNodeFacts } from "../drivers/linux/node-facts.ts";
import { openCgroupStats, openMemoryGauge } from "../drivers/linux/open-cgroups.ts";
import { payloadFiles } from "../drivers/linux/payload-files.ts";
import { PodNames } from "../drivers/linux/pod-names.ts";
import { newProbeRunner } from "../drivers/linux/probe-runner.ts";
import { readSwapBytes } from "../drivers/linux/swap.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { pluginSockets } from "../drivers/plugins/plugin-sockets.ts";
import { podResourcesApi } from "../drivers/pod-resources/pod-resources.ts";
import { Logind } from "../drivers/systemd/logind.ts";
import type {
  AgentPorts,
  ApiServerPorts,
  MachinePorts,
  TelemetryPorts,
} from "../engine/agent/agent-ports.ts";
import type { AgentSettings } from "../engine/agent/agent-settings.ts";
import { Agent } from "../engine/agent.ts";
import type { LogRotationSettings } from "../engine/node/log-rotator.ts";
import type { NodeSettings } from "../engine/node/node-settings.ts";
import type { EvictionSettings } from "../engine/resources/eviction/eviction-settings.ts";
import { errorText } from "../lib/error-text.ts";
import { berthVersion } from "../lib/version.ts";
import type { Cgroups } from "../ports/cgroups.ts";
import type { PodSource } from "../ports/pod-source.ts";
import { type DataLayout, dataLayout } from "./data-layout.ts";
import { parseEviction } from "./eviction-options.ts";
import { defaultHistoryLimits } from "./history-options.ts";
import { defaultImageSetup, type ImageSetup } from "./image-options.ts";
import { defaultLogRotation } from "./log-rotation-options.ts";
import { defaultManagerOptions, type ManagerOptions, managerSettings } from "./manager-options.ts";
import { defaultNodeCgroups, type OpenedCgroups, openNodeCgroups } from "./node-cgroups.ts";
import {
  describeAdmission,
  machineReservation,
  readHostIps,
  readResolverConfig,
  withRuntimeFeatures,
} from "./node-facts.ts";
import { plainNodeSettings, type RuntimeIdentity } from "./node-options.ts";
import { parseSecurity, type SecuritySettings } from "./security-options.ts";
import { seLinuxNode } from "./selinux-node.ts";

const resolverConfigPath = "/etc/resolv.conf";

/** Where the agent lives. */
interface AgentPlace {
  readonly dataDir: string;
  readonly nodeName: string;
  /** The cgroup below which all pods lie in their kubepods. */
  readonly cgroupRoot: string;
  /** Where the runtime does not report its own. */
  readonly cgroupDriver?: CgroupDriver | undefined;
  /** Where things lie, unless as `berth up` has it below the data folder. */
  readonly layout?:
    | Pick<DataLayout, "rootFolder" | "devicePlugins" | "podLogs" | "records" | "volumes">
    | undefined;
  /** The helper that reads foreign files, as what this process' own executable is started with. */
  readonly foreignFilesProgram: string;
}

/** What the operator allows pods. */
export interface PodRules {
  readonly logRotation: LogRotationSettings;
  readonly images: ImageSetup;
  readonly security: SecuritySettings;
  readonly eviction: EvictionSettings;
  /** How much is kept of what happened, and for how long. */
  readonly history: HistoryLimits;
  /** Processes of a pod at most, unless the tuning has its own cgroup settings; undefined = any number. */
  readonly podPidsLimit: number | undefined;
}

export interface AgentOptions {
  readonly place: AgentPlace;
  readonly runtime: CriRuntime;
  readonly runtimeEndpoint: string;
  readonly sources: readonly PodSource[];
  readonly telemetry: TelemetryPorts;
  /** Undefined = the node belongs to no cluster. */
  readonly clients?: ApiServerPorts | undefined;
  readonly rules?: Partial<PodRules> | undefined;
  /** Facts of the node that differ from what this machine says of itself. */
  readonly nodeFacts?: NodeFacts;
  readonly tuning?: AgentTuning | undefined;
}

/** What a node's configuration changes of an agent's usual settings. */
export interface AgentTuning {
  readonly settings: TunedSettings;
  readonly runtime: Partial<Omit<RuntimeSettings, "swap">>;
  readonly swapBehavior: RuntimeSettings["swap"]["behavior"];
  readonly resolverConfigPath: string;
  readonly node: (runtime: RuntimeIdentity) => NodeSettings;
  /** The network of the node's pods until its cluster says another; empty = the runtime knows. */
  readonly podCidr: string;
}

/** By the groups of the settings. */
interface TunedSettings {
  readonly cluster?: AgentSettings["cluster"];
  readonly fieldRules?: AdmissionFacts["fieldRules"];
  readonly podLevelResources?: AdmissionFacts["podLevelResources"];
  readonly shutdownPeriods?: AgentSettings["node"]["shutdownPeriods"];
  readonly cgroups?: Partial<Pick<AgentSettings["cgroups"], "node" | "system">>;
  readonly images?: Pick<AgentSettings["images"], "dockerConfigs">;
  readonly logs?: Pick<AgentSettings["logs"], "areLinked">;
  readonly managers?: ManagerOptions;
  readonly pods?: Partial<AgentSettings["pods"]>;
}

type NodeFacts = Partial<Pick<AgentSettings["node"], "clusterDomain" | "hostIps">> &
  Partial<Pick<AdmissionFacts, "node">> &
  Partial<Pick<MachinePorts, "readNodeDns">>;

export async function createAgent(options: AgentOptions, signal: AbortSignal): Promise<Agent> {
  const { place, runtime, tuning } = options;
  const { log } = options.telemetry;
  const { runtimeName = "", runtimeVersion = "" } = await runtime.version(signal);
  const opened = await openNodeCgroups(
    runtime,
    { parent: place.cgroupRoot.replace(/\/$/, ""), driver: place.cgroupDriver ?? "cgroupfs" },
    log,
    signal,
  );
  const node = await prepareNode(options, runtimeName, signal);
  const ports = machinePorts(options, opened, runtimeName);
  const resolverConfig = tuning?.resolverConfigPath ?? resolverConfigPath;
  const { resolverConfig: resolverText = "", clusterDomain } = await ports.readNodeDns();
  const resolverProblem = resolverConfigProblem(resolverConfig, resolverText, clusterDomain);
  // What does not fit is left out of every pod that uses it; better to log it once than for each of them.
  if (resolverProblem !== undefined) {
    log.warn("the node's resolv.conf does not fit pods", { problem: resolverProblem });
  }
  const { max: maxPids } = await ports.hostUsage.tasks();
  const cgroups = cgroupSettings(options, opened, maxPids);
  const identity = {
    version: berthVersion,
    nodeName: place.nodeName,
    runtimeName,
    runtimeVersion,
    runtimeEndpoint: options.runtimeEndpoint,
  };
  return new Agent(
    ports,
    { identity, node: { ...node, resolverProblem }, cgroups, ...ownSettings(options, opened) },
    signal,
  );
}

/** What does not depend on the node that the agent found. */
function ownSettings(
  { place, tuning, rules = {} }: AgentOptions,
  { cgroups }: OpenedCgroups,
): Omit<AgentSettings, "identity" | "node" | "cgroups"> {
  const { rootFolder, podLogs, volumes: claimsFolder } = layoutOf(place);
  const { images = defaultImageSetup, security = parseSecurity({}) } = rules;
  const { cluster, ...tuned } = tuning?.settings ?? {};
  return {
    rootFolder,
    cluster,
    runtimeSettings: {
      ...runtimeSettings(podLogs, rootFolder, cgroups, tuning?.swapBehavior),
      seccompDefault: security.seccompDefault,
      ...tuning?.runtime,
    },
    images: {
      pulls: images.pulls,
      credentialProviders: images.providers,
      verification: images.verification,
      ...tuned.images,
    },
    logs: { areLinked: false, rotation: rules.logRotation ?? defaultLogRotation, ...tuned.logs },
    pods: {
      volumeStatsMs: 60_000,
      volumeHealth: true,
      claimsFolder,
      ...tuned.pods,
    },
    eviction: rules.eviction ?? parseEviction(),
  };
}

function cgroupSettings(
  { tuning, rules = {} }: AgentOptions,
  { root, driver }: OpenedCgroups,
  maxPids: number | undefined,
): AgentSettings["cgroups"] {
  const usual = { ...defaultNodeCgroups, podPidsLimit: rules.podPidsLimit };
  const { node = usual, system = {} } = tuning?.settings.cgroups ?? {};
  return { root, driver, node: { ...node, maxPids }, system };
}

function layoutOf({ layout, dataDir }: AgentPlace): NonNullable<AgentPlace["layout"]> {
  return layout ?? dataLayout(dataDir);
}

/** What the runtime can do, and what that makes of the node. */
async function prepareNode(
  options: AgentOptions,
  runtimeName: string,
  signal: AbortSignal,
): Promise<AgentSettings["node"]> {
  const { place, runtime, tuning, rules = {}, nodeFacts = {} } = options;
  const { features } = await runtime.status(false, signal);
  await announcePodCidr(options, signal);
  const identity = { name: runtimeName, features };
  const registration = tuning?.node(identity) ?? plainNodeSettings(place.nodeName, identity);
  const { security = parseSecurity({}) } = rules;
  const {
    fieldRules = "strict",
    podLevelResources,
    shutdownPeriods = [],
    managers = defaultManagerOptions,
  } = tuning?.settings ?? {};
  const { sysctls } = security;
  const admission = describeAdmission(registration, place.dataDir, {
    sysctls,
    fieldRules,
    podLevelResources,
  });
  const { node = withRuntimeFeatures(admission.node, features) } = nodeFacts;
  const { clusterDomain = "", hostIps = readHostIps() } = nodeFacts;
  return {
    admission: { ...admission, node },
    hostIps,
    clusterDomain,
    registration,
    shutdownPeriods,
    devicePluginFolder: layoutOf(place).devicePlugins,
    managers: managerSettings(
      managers,
      await createMachineTopologyReader().read(),
      machineReservation(registration, place.dataDir),
    ),
  };
}

async function announcePodCidr(
  { runtime, tuning, telemetry }: AgentOptions,
  signal: AbortSignal,
): Promise<void> {
  const cidr = tuning?.podCidr ?? "";
  if (cidr === "") return;
  await runtime.updateRuntimeConfig(cidr, signal).catch((error: unknown) => {
    const fields = { cidr, error: errorText(error) };
    telemetry.log.warn("cannot pass the pod CIDR to the runtime", fields);
  });
}

function machinePorts(
  options: AgentOptions,
  { cgroups, cgroupsAt }: OpenedCgroups,
  runtimeName: string,
): AgentPorts {
  const { runtime, place, sources, telemetry, clients, rules, nodeFacts } = options;
  const names = new PodNames();
  const helpers = new ForeignHelpers(place.foreignFilesProgram, new HungPaths(Date.now));
  const commands = linuxCommands(helpers.hungPaths);
  return {
    clock: systemClock,
    random: Math.random,
    uniqueName: () => randomBytes(4).toString("hex"),
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    podSources: sources,
    runtime,
    eventSources: [createCriEvents(runtime), createContainerdEvents(runtime)],
    pullProgress: runtimeName === "containerd" ? new ContainerdPullProgress(runtime) : undefined,
    credentialPlugins: (rules?.images ?? defaultImageSetup).plugins,
    hookHttp: newHookHttp(names),
    probeRunner: newProbeRunner({
      execSync: (id, command, timeoutSeconds, signal) =>
        runtime.execSync(id, command, timeoutSeconds, signal),
      names,
    }),
    apiServer: clients && { ...clients, podKeys },
    files: hostFiles,
    logFiles,
    payloadFiles,
    foreignFiles: linuxForeignFiles(helpers, Date.now),
    mounts: linuxMounts(helpers.hungPaths, commands),
    historyStore: new DiskHistory({
      folder: layoutOf(place).records,
      limits: rules?.history ?? defaultHistoryLimits,
      nowMs: () => systemClock.nowMs(),
      onFailure: (error) => telemetry.log.warn("cannot write history", { error: errorText(error) }),
    }),
    commands,
    devices: { ...linuxDeviceTree(commands), ...blockDevices },
    csiDrivers: createCsiDrivers(),
    pluginSockets,
    devicePlugins,
    draPlugins: createDraPlugins(),
    podResourcesApi,
    allocateResponses: allocateResponseCodec,
    hostCgroups: cgroups,
    cgroupsAt,
    cgroupStats: openCgroupStats(),
    memoryGauge: openMemoryGauge(),
    hostUsage: linuxHostUsage(Date.now, Date.now() - uptime() * 1000),
    kernelLog: new DeviceKernelLog(),
    shutdownService: new Logind(),
    nodeFacts: linuxNodeFacts,
    readNodeDns: nodeFacts?.readNodeDns ?? readMachineDns,
    ...telemetry,
  };
}

async function readMachineDns(): Promise<NodeDns> {
  const dns = { clusterDns: [], clusterDomain: "", nodeIps: readHostIps() };
  try {
    return { ...dns, resolverConfig: readResolverConfig(resolverConfigPath) };
  } catch {
    return { ...dns, resolverConfig: undefined };
  }
}

/** What this machine adds to every sandbox and container. */
export function runtimeSettings(
  podLogsRoot: string,
  rootFolder: string,
  cgroups: Cgroups,
  swapBehavior: AgentTuning["swapBehavior"] = "NoSwap",
): Omit<RuntimeSettings, "seccompDefault"> {
  return {
    podLogsRoot,
    seccompProfileRoot: `${rootFolder}/seccomp`,
    cgroupVersion: cgroups.version,
    cpuCfsQuota: true,
    cpuCfsPeriodUs: 100_000,
    singleProcessOomKill: cgroups.version === 1,
    memoryCapacityBytes: totalmem(),
    swap: {
      controllerAvailable: hasSwapController(cgroups.version),
      behavior: swapBehavior,
      capacityBytes: swapBehavior === "NoSwap" ? 0 : readSwapBytes(),
    },
    hugePageSizes: readHugePageSizes().map(pageSizeName),
    extraMaskedPaths: listThermalFolders(),
    seLinux: seLinuxNode(false),
    podUsers: usersBeyondTheNodes(usualUsersPerPod),
    containerStopSignals: false,
  };
}

/** As the kernel's cgroup files name page sizes: 2MB, 1GB. */
function pageSizeName(bytes: bigint): string {
  const kibibytes = bytes / 1024n;
  if (kibibytes >= 1_048_576n) return `${kibibytes / 1_048_576n}GB`;
  return kibibytes >= 1024n ? `${kibibytes / 1024n}MB` : `${kibibytes}KB`;
}
