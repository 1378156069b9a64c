import type { AdmissionFacts } from "../../core/admission/admit-pod.ts";
import type { ContainerGcPolicy } from "../../core/collect/container-gc.ts";
import type { RuntimeSettings } from "../../core/cri/runtime-settings.ts";
import type { CredentialProvider } from "../../core/image/credential-provider.ts";
import type { DockerConfigFile } from "../../core/image/docker-config.ts";
import type { NodeDns } from "../../core/network/dns-config.ts";
import type { CgroupDriver, CgroupName } from "../../core/resource/cgroup-name.ts";
import type { ShutdownPeriod } from "../../core/shutdown/plan-shutdown.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime, ImageService } from "../../ports/container-runtime.ts";
import type { CredentialPlugins } from "../../ports/credential-plugins.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { Journal } from "../../ports/journal.ts";
import type { KernelLog } from "../../ports/kernel-log.ts";
import type { Log } from "../../ports/log.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import type { MemoryGauge } from "../../ports/memory-gauge.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { NodeFacts } from "../../ports/node-facts.ts";
import type { PayloadFiles } from "../../ports/payload-files.ts";
import type { PodSource } from "../../ports/pod-source.ts";
import type { ProbeRunner } from "../../ports/probe-runner.ts";
import type { PullProgressReader } from "../../ports/pull-progress.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";
import type { ShutdownService } from "../../ports/shutdown.ts";
import type { CgroupStats } from "../../ports/stats.ts";
import type { Tracer } from "../../ports/tracer.ts";
import type { Watchdog } from "../../ports/watchdog.ts";
import type { ClusterSettings } from "../cluster/cluster-settings.ts";
import type { ImagePullLimits } from "../images/image-puller.ts";
import type { LogRotationSettings } from "../node/log-rotator.ts";
import type { NodeSettings } from "../node/node-settings.ts";
import type { EvictionSettings } from "../resources/eviction/eviction-settings.ts";
import type { NodeCgroupSettings } from "../resources/node-cgroups.ts";

/** Everything the engine needs of the world. */
export interface AgentPorts {
  readonly runtime: ContainerRuntime & ImageService;
  readonly runtimeEvents: readonly RuntimeEvents[];
  readonly sources: readonly PodSource[];
  /** Undefined = the node belongs to no cluster. */
  readonly api?: ApiClient | undefined;
  /** For the node's status and lease, which nothing may hold back; the same one unless given. */
  readonly heartbeatApi?: ApiClient | undefined;
  /** For events, which have a rate of their own; the same one unless given. */
  readonly eventApi?: ApiClient | undefined;
  readonly clock: Clock;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** A name that no other file in a folder has. */
  readonly uniqueName: () => string;
  /** Hexadecimal. */
  readonly sha256: (text: string) => string;
  readonly files: HostFiles;
  readonly logFiles: LogFiles;
  readonly journal: Journal;
  readonly payloadFiles: PayloadFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly cgroups: Cgroups;
  /** Cgroups below another one than that of pods. */
  readonly cgroupsAt: (path: string) => Cgroups;
  readonly kernelLog: KernelLog;
  readonly shutdown: ShutdownService;
  readonly cgroupStats: CgroupStats;
  readonly memoryGauge: MemoryGauge;
  readonly hostUsage: HostUsage;
  readonly hookHttp: HookHttp;
  readonly probeRunner: ProbeRunner;
  readonly credentialPlugins: CredentialPlugins;
  /** Undefined when the runtime does not tell. */
  readonly pullProgress: PullProgressReader | undefined;
  readonly readNodeDns: () => Promise<NodeDns>;
  readonly nodeFacts: NodeFacts;
  readonly metrics: Metrics;
  /** Undefined = nobody asked for traces. */
  readonly tracer?: Tracer | undefined;
  /** Undefined = nobody watches whether the agent stands still. */
  readonly watchdog?: Watchdog | undefined;
  readonly log: Log;
}

/** What is fixed while the agent runs. */
export interface AgentSettings extends AdmissionFacts {
  readonly version: string;
  readonly nodeName: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeEndpoint: string;
  /** The data folder, laid out as a kubelet's. */
  readonly rootFolder: string;
  readonly cgroupRoot: CgroupName;
  readonly cgroupDriver: CgroupDriver;
  readonly nodeCgroups: NodeCgroupSettings;
  /** How long pods may take to end when the machine goes down; empty = it does not wait for them. */
  readonly shutdownPeriods: readonly ShutdownPeriod[];
  readonly runtimeSettings: RuntimeSettings;
  readonly clusterDomain: string;
  readonly cluster?: ClusterSettings | undefined;
  readonly hostIps: readonly string[];
  /** How the node tells its cluster of itself. */
  readonly nodeSettings: NodeSettings;
  readonly imagePulls: ImagePullLimits;
  readonly credentialProviders: readonly CredentialProvider[];
  /** Where registry logins for all pods may lie; nowhere unless told. */
  readonly dockerConfigs?: readonly DockerConfigFile[] | undefined;
  /** Link container logs where cluster log collectors look for them. */
  readonly linkLogs: boolean;
  readonly logRotation: LogRotationSettings;
  /** How long a pod goes without a sync at most. */
  readonly resyncIntervalMs?: number | undefined;
  readonly crashLoop?: BackoffLimits | undefined;
  readonly deadContainers?: ContainerGcPolicy | undefined;
  readonly eviction: EvictionSettings;
  /** How old the measured size of a volume may become. */
  readonly volumeStatsMs: number;
  /** The cgroups of what runs on the node beside pods, by the names that statistics have for them. */
  readonly systemCgroups: Readonly<Record<string, string | undefined>>;
}
