// Puts the engine on this machine's drivers.
import { createHash, randomBytes } from "node:crypto";
import { totalmem, uptime } from "node:os";
import type { RuntimeSettings } from "../core/cri/runtime-settings.ts";
import type { NodeDns } from "../core/network/dns-config.ts";
import { resolverConfigProblem } from "../core/network/resolver-config.ts";
import type { CgroupDriver } from "../core/resource/cgroup-name.ts";
import { createContainerdEvents } from "../drivers/containerd/containerd-events.ts";
import { ContainerdPullProgress } from "../drivers/containerd/pull-progress.ts";
import { createCriEvents } from "../drivers/cri/cri-events.ts";
import type { CriRuntime } from "../drivers/cri/cri-runtime.ts";
import { JsonJournal } from "../drivers/disk/json-journal.ts";
import { linuxForeignFiles } from "../drivers/linux/foreign-files.ts";
import { ForeignHelpers } from "../drivers/linux/foreign-helpers.ts";
import { newHookHttp } from "../drivers/linux/hook-http.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { linuxHostUsage } from "../drivers/linux/host-usage.ts";
import { readHugePageSizes } from "../drivers/linux/huge-pages.ts";
import { HungPaths } from "../drivers/linux/hung-paths.ts";
import {
  hasSwapController,
  isSelinuxEnabled,
  listThermalFolders,
} from "../drivers/linux/kernel-features.ts";
import { DeviceKernelLog } from "../drivers/linux/kernel-log.ts";
import { logFiles } from "../drivers/linux/log-files.ts";
import { linuxMounts } from "../drivers/linux/mounts.ts";
import { linuxNodeFacts } from "../drivers/linux/node-facts.ts";
import { openCgroupStats, openMemoryGauge } from "../drivers/linux/open-cgroups.ts";
import { payloadFiles } from "../drivers/linux/payload-files.ts";
import { PodNames } from "../drivers/linux/pod-names.ts";
import { newProbeRunner } from "../drivers/linux/probe-runner.ts";
import { readSwapBytes } from "../drivers/linux/swap.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { Logind } from "../drivers/systemd/logind.ts";
import type { AgentPorts, AgentSettings } from "../engine/agent/agent-ports.ts";
import { Agent } from "../engine/agent.ts";
import type { LogRotationSettings } from "../engine/node/log-rotator.ts";
import type { NodeSettings } from "../engine/node/node-settings.ts";
import type { EvictionSettings } from "../engine/resources/eviction/eviction-settings.ts";
import { errorText } from "../lib/error-text.ts";
import { berthVersion } from "../lib/version.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Cgroups } from "../ports/cgroups.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { PodSource } from "../ports/pod-source.ts";
import type { Tracer } from "../ports/tracer.ts";
import type { Watchdog } from "../ports/watchdog.ts";
import { type DataLayout, dataLayout } from "./data-layout.ts";
import { defaultEviction } from "./eviction-options.ts";
import { defaultImageSetup, type ImageSetup } from "./image-options.ts";
import { defaultLogRotation } from "./log-rotation-options.ts";
import { defaultNodeCgroups, type OpenedCgroups, openNodeCgroups } from "./node-cgroups.ts";
import {
  describeAdmission,
  readHostIps,
  readResolverConfig,
  withRuntimeFeatures,
} from "./node-facts.ts";
import { plainNodeSettings, type RuntimeIdentity } from "./node-options.ts";
import { parseSecurity, type SecuritySettings } from "./security-options.ts";

const resolverConfigPath = "/etc/resolv.conf";
const defaultVolumeStatsMs = 60_000;

/** Where the agent lives. */
interface AgentPlace {
  readonly dataDir: string;
  readonly nodeName: string;
  /** The cgroup below which all pods lie in their kubepods. */
  readonly cgroupRoot: string;
  /** Where the runtime does not report its own. */
  readonly cgroupDriver?: CgroupDriver | undefined;
  /** Where things lie, unless as `berth up` has it below the data folder. */
  readonly layout?: Pick<DataLayout, "rootFolder" | "podLogs" | "records"> | undefined;
  /** The helper that reads foreign files, as a file that Node can run. */
  readonly foreignFilesProgram: string;
}

/** What the operator allows pods. */
export interface PodRules {
  readonly logRotation: LogRotationSettings;
  readonly images: ImageSetup;
  readonly security: SecuritySettings;
  readonly eviction: EvictionSettings;
  /** Processes of a pod at most, unless the tuning has its own cgroup settings; undefined = any number. */
  readonly podPidsLimit: number | undefined;
}

interface AgentTelemetry {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer?: Tracer | undefined;
  readonly watchdog?: Watchdog | undefined;
}

interface AgentClients {
  readonly api: ApiClient;
  readonly heartbeatApi?: ApiClient | undefined;
  readonly eventApi?: ApiClient | undefined;
}

export interface AgentOptions {
  readonly place: AgentPlace;
  readonly runtime: CriRuntime;
  readonly runtimeEndpoint: string;
  readonly sources: readonly PodSource[];
  readonly telemetry: AgentTelemetry;
  /** Undefined = the node belongs to no cluster. */
  readonly clients?: AgentClients | undefined;
  readonly rules?: Partial<PodRules> | undefined;
  /** Facts of the node that differ from what this machine says of itself. */
  readonly nodeFacts?: NodeFacts;
  readonly tuning?: AgentTuning | undefined;
}

/** What a node's configuration changes of an agent's usual settings. */
export interface AgentTuning {
  readonly settings: Partial<
    Pick<
      AgentSettings,
      | "linkLogs"
      | "resyncIntervalMs"
      | "crashLoop"
      | "deadContainers"
      | "dockerConfigs"
      | "fieldGates"
      | "cluster"
      | "volumeStatsMs"
      | "systemCgroups"
      | "nodeCgroups"
      | "shutdownPeriods"
    >
  >;
  readonly runtime: Partial<Omit<RuntimeSettings, "swap">>;
  readonly swapBehavior: RuntimeSettings["swap"]["behavior"];
  readonly resolverConfigPath: string;
  readonly node: (runtime: RuntimeIdentity) => NodeSettings;
  /** The network of the node's pods until its cluster says another; empty = the runtime knows. */
  readonly podCidr: string;
}

type NodeFacts = Partial<Pick<AgentSettings, "clusterDomain" | "hostIps" | "node">> &
  Partial<Pick<AgentPorts, "readNodeDns">>;

export async function createAgent(options: AgentOptions, signal: AbortSignal): Promise<Agent> {
  const { place, runtime, tuning, rules = {} } = options;
  const { dataDir, nodeName, layout = dataLayout(dataDir) } = place;
  const { log, metrics, tracer } = options.telemetry;
  const { readNodeDns = readMachineDns, ...facts } = options.nodeFacts ?? {};
  const { images = defaultImageSetup, security = parseSecurity({}) } = rules;
  const { runtimeName = "", runtimeVersion = "" } = await runtime.version(signal);
  const opened = await openNodeCgroups(
    runtime,
    { parent: place.cgroupRoot.replace(/\/$/, ""), driver: place.cgroupDriver ?? "cgroupfs" },
    log,
    signal,
  );
  const { cgroups } = opened;
  const { features, nodeSettings } = await prepareNode(options, runtimeName, signal);
  const admission = describeAdmission(nodeSettings, dataDir, security.sysctls);
  const settings: AgentSettings = {
    version: berthVersion,
    nodeName,
    runtimeName,
    runtimeVersion,
    runtimeEndpoint: options.runtimeEndpoint,
    rootFolder: layout.rootFolder,
    cgroupRoot: opened.root,
    cgroupDriver: opened.driver,
    nodeCgroups: { ...defaultNodeCgroups, podPidsLimit: rules.podPidsLimit },
    shutdownPeriods: [],
    runtimeSettings: {
      ...runtimeSettings(layout.podLogs, layout.rootFolder, cgroups, tuning?.swapBehavior),
      seccompDefault: security.seccompDefault,
      ...tuning?.runtime,
    },
    clusterDomain: "",
    hostIps: readHostIps(),
    ...admission,
    node: withRuntimeFeatures(admission.node, features),
    nodeSettings,
    linkLogs: false,
    logRotation: rules.logRotation ?? defaultLogRotation,
    imagePulls: images.pulls,
    credentialProviders: images.providers,
    eviction: rules.eviction ?? defaultEviction(),
    volumeStatsMs: defaultVolumeStatsMs,
    systemCgroups: {},
    ...tuning?.settings,
    ...facts,
  };
  const resolverConfig = tuning?.resolverConfigPath ?? resolverConfigPath;
  warnOfResolverConfig(resolverConfig, await readNodeDns(), log);
  const ports = machinePorts(options, opened, layout.records);
  const pullProgress =
    settings.runtimeName === "containerd" ? new ContainerdPullProgress(runtime) : undefined;
  const { max: maxPids } = await ports.hostUsage.tasks();
  return new Agent(
    {
      ...ports,
      ...options.clients,
      metrics,
      tracer,
      readNodeDns,
      sources: options.sources,
      credentialPlugins: images.plugins,
      pullProgress,
    },
    { ...settings, nodeCgroups: { ...settings.nodeCgroups, maxPids } },
    signal,
  );
}

/** What the runtime can do, and what that makes of the node. */
async function prepareNode(
  options: AgentOptions,
  runtimeName: string,
  signal: AbortSignal,
): Promise<RuntimeIdentity & { readonly nodeSettings: NodeSettings }> {
  const { runtime, tuning } = options;
  const { nodeName } = options.place;
  const { features } = await runtime.status(false, signal);
  await announcePodCidr(options, signal);
  const identity = { name: runtimeName, features };
  const nodeSettings = tuning?.node(identity) ?? plainNodeSettings(nodeName, identity);
  return { ...identity, nodeSettings };
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
  { runtime, place, telemetry }: AgentOptions,
  { cgroups, cgroupsAt }: OpenedCgroups,
  recordsFolder: string,
): Omit<AgentPorts, "sources" | "metrics" | "readNodeDns" | "credentialPlugins" | "pullProgress"> {
  const { watchdog, log } = telemetry;
  const names = new PodNames();
  const helpers = new ForeignHelpers(place.foreignFilesProgram, new HungPaths(Date.now));
  return {
    runtime,
    runtimeEvents: [createCriEvents(runtime), createContainerdEvents(runtime)],
    clock: systemClock,
    random: Math.random,
    uniqueName: () => randomBytes(4).toString("hex"),
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    files: hostFiles,
    logFiles,
    journal: new JsonJournal(recordsFolder, (error) =>
      log.warn("cannot write a record", { error: errorText(error) }),
    ),
    payloadFiles,
    foreignFiles: linuxForeignFiles(helpers, Date.now),
    mounts: linuxMounts(helpers.hungPaths),
    cgroups,
    cgroupsAt,
    kernelLog: new DeviceKernelLog(),
    shutdown: new Logind(),
    cgroupStats: openCgroupStats(),
    memoryGauge: openMemoryGauge(),
    nodeFacts: linuxNodeFacts,
    hostUsage: linuxHostUsage(Date.now, Date.now() - uptime() * 1000),
    watchdog,
    hookHttp: newHookHttp(names),
    probeRunner: newProbeRunner({
      execSync: (id, command, timeoutSeconds, signal) =>
        runtime.execSync(id, command, timeoutSeconds, signal),
      names,
    }),
    log,
  };
}

// What does not fit is left out of every pod that uses it; better to log it once than for each of them.
function warnOfResolverConfig(
  path: string,
  { resolverConfig = "", clusterDomain }: NodeDns,
  log: Log,
): void {
  const problem = resolverConfigProblem(path, resolverConfig, clusterDomain);
  if (problem !== undefined) log.warn("the node's resolv.conf does not fit pods", { problem });
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
    selinuxEnabled: isSelinuxEnabled(),
    containerStopSignals: false,
  };
}

/** As the kernel's cgroup files name page sizes: 2MB, 1GB. */
function pageSizeName(bytes: bigint): string {
  const kibibytes = bytes / 1024n;
  if (kibibytes >= 1_048_576n) return `${kibibytes / 1_048_576n}GB`;
  return kibibytes >= 1024n ? `${kibibytes / 1024n}MB` : `${kibibytes}KB`;
}
