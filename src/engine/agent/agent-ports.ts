import type { AllocateResponseCodec } from "../../core/devices/plugin/device-checkpoint.ts";
import type { NodeDns } from "../../core/network/dns-config.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { BlockDevices } from "../../ports/block-devices.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Commands } from "../../ports/commands.ts";
import type { ContainerRuntime, ImageService } from "../../ports/container-runtime.ts";
import type { CredentialPlugins } from "../../ports/credential-plugins.ts";
import type { CsiDrivers } from "../../ports/csi-drivers.ts";
import type { DevicePlugins } from "../../ports/device-plugins.ts";
import type { DeviceTree } from "../../ports/device-tree.ts";
import type { DraPlugins } from "../../ports/dra-plugins.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HistoryStore } from "../../ports/history.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { KernelLog } from "../../ports/kernel-log.ts";
import type { Log } from "../../ports/log.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import type { MemoryGauge } from "../../ports/memory-gauge.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { NodeFacts } from "../../ports/node-facts.ts";
import type { PayloadFiles } from "../../ports/payload-files.ts";
import type { PluginSockets } from "../../ports/plugin-sockets.ts";
import type { PodKeys } from "../../ports/pod-certificates.ts";
import type { PodResourcesApi } from "../../ports/pod-resources.ts";
import type { PodSource } from "../../ports/pod-source.ts";
import type { ProbeRunner } from "../../ports/probe-runner.ts";
import type { PullProgressReader } from "../../ports/pull-progress.ts";
import type { Random } from "../../ports/random.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";
import type { ShutdownService } from "../../ports/shutdown.ts";
import type { CgroupStats } from "../../ports/stats.ts";
import type { Tracer } from "../../ports/tracer.ts";
import type { Watchdog } from "../../ports/watchdog.ts";

/** Everything the engine needs of the world, under the names by which its parts ask for it. */
export interface AgentPorts
  extends RuntimePorts,
    FilePorts,
    StoragePorts,
    DevicePorts,
    MachinePorts,
    TelemetryPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** A name that no other file in a folder has. */
  readonly uniqueName: () => string;
  /** Hexadecimal. */
  readonly sha256: (text: string) => string;
  readonly podSources: readonly PodSource[];
  /** Undefined = the node belongs to no cluster. */
  readonly apiServer?: ApiServerPorts | undefined;
}

/** The container runtime, and what else is asked about containers and their images. */
interface RuntimePorts {
  readonly runtime: ContainerRuntime & ImageService;
  readonly eventSources: readonly RuntimeEvents[];
  /** Undefined when the runtime does not report it. */
  readonly pullProgress: PullProgressReader | undefined;
  readonly credentialPlugins: CredentialPlugins;
  readonly hookHttp: HookHttp;
  readonly probeRunner: ProbeRunner;
}

export interface ApiServerPorts {
  readonly api: ApiClient;
  /** For the node's status and lease, which nothing may hold back; the same one unless given. */
  readonly heartbeatApi?: ApiClient | undefined;
  /** For events, which have a rate of their own; the same one unless given. */
  readonly eventApi?: ApiClient | undefined;
  /** Undefined = pods get no certificates. */
  readonly podKeys?: PodKeys | undefined;
}

/** What lies on disk. */
interface FilePorts {
  /** The agent's own, and others that only root can change. */
  readonly files: HostFiles;
  readonly logFiles: LogFiles;
  readonly payloadFiles: PayloadFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly historyStore: HistoryStore;
}

/** Storage that is not the node's own, and the plugins that serve it. */
interface StoragePorts {
  readonly commands: Commands;
  readonly devices: DeviceTree & BlockDevices;
  readonly csiDrivers: CsiDrivers;
  readonly pluginSockets: PluginSockets;
}

/** Programs of the node that serve devices. */
interface DevicePorts {
  readonly devicePlugins: DevicePlugins;
  readonly draPlugins: DraPlugins;
  readonly podResourcesApi: PodResourcesApi;
  /** What a plugin answered, as the kubelet's checkpoint keeps it. */
  readonly allocateResponses: AllocateResponseCodec;
}

/** The machine and its kernel. */
export interface MachinePorts {
  readonly hostCgroups: Cgroups;
  /** Cgroups below another one than that of pods. */
  readonly cgroupsAt: (path: string) => Cgroups;
  readonly cgroupStats: CgroupStats;
  readonly memoryGauge: MemoryGauge;
  readonly hostUsage: HostUsage;
  readonly kernelLog: KernelLog;
  readonly shutdownService: ShutdownService;
  readonly nodeFacts: NodeFacts;
  readonly readNodeDns: () => Promise<NodeDns>;
}

/** How others learn what the agent does. */
export interface TelemetryPorts {
  readonly log: Log;
  readonly metrics: Metrics;
  /** Undefined = no traces are exported. */
  readonly tracer?: Tracer | undefined;
  /** Undefined = the agent runs without a watchdog. */
  readonly watchdog?: Watchdog | undefined;
}
