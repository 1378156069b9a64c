import type { AdmissionFacts } from "../../core/admission/admit-pod.ts";
import type { ContainerGcPolicy } from "../../core/collect/container-gc.ts";
import type { RuntimeSettings } from "../../core/cri/runtime-settings.ts";
import type { CredentialProvider } from "../../core/image/credential-provider.ts";
import type { DockerConfigFile } from "../../core/image/docker-config.ts";
import type { VerificationPolicy } from "../../core/image/verification-policy.ts";
import type { CgroupDriver, CgroupName } from "../../core/resource/cgroup-name.ts";
import type { ShutdownPeriod } from "../../core/shutdown/plan-shutdown.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import type { ClusterSettings } from "../cluster/cluster-settings.ts";
import type { ManagerSettings } from "../devices/manager-settings.ts";
import type { ImagePullLimits } from "../images/image-puller.ts";
import type { LogRotationSettings } from "../node/log-rotator.ts";
import type { NodeSettings } from "../node/node-settings.ts";
import type { EvictionSettings } from "../resources/eviction/eviction-settings.ts";
import type { NodeCgroupSettings } from "../resources/node-cgroups.ts";

/** What is fixed while the agent runs. */
export interface AgentSettings {
  readonly identity: AgentIdentity;
  /** The data folder, laid out as a kubelet's. */
  readonly rootFolder: string;
  readonly node: NodePlace;
  readonly cluster?: ClusterSettings | undefined;
  readonly runtimeSettings: RuntimeSettings;
  readonly cgroups: CgroupSettings;
  readonly images: ImageSettings;
  readonly logs: LogSettings;
  readonly pods: PodSettings;
  readonly eviction: EvictionSettings;
}

/** What runs here, as it names itself. */
interface AgentIdentity {
  readonly version: string;
  readonly nodeName: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeEndpoint: string;
}

/** The node, and its place in a cluster. */
interface NodePlace {
  /** What it can do for pods. */
  readonly admission: AdmissionFacts;
  readonly hostIps: readonly string[];
  readonly clusterDomain: string;
  /** How it registers and reports to its cluster. */
  readonly registration: NodeSettings;
  /** How long pods may take to end when the machine goes down; empty = it does not wait for them. */
  readonly shutdownPeriods: readonly ShutdownPeriod[];
  /** What of the machine's resolv.conf does not fit into pods. */
  readonly resolverProblem?: string | undefined;
  /** How CPUs and memory are handed out. */
  readonly managers: ManagerSettings;
  /** Where device plugins register, and what was handed out of them is kept. */
  readonly devicePluginFolder: string;
}

interface CgroupSettings {
  /** The one below which all pods lie. */
  readonly root: CgroupName;
  readonly driver: CgroupDriver;
  readonly node: NodeCgroupSettings;
  /** Those of what runs on the node beside pods, by the names that statistics have for them. */
  readonly system: Readonly<Record<string, string | undefined>>;
}

interface ImageSettings {
  readonly pulls: ImagePullLimits;
  readonly credentialProviders: readonly CredentialProvider[];
  /** Undefined = who pulled an image is not recorded: every pod may use what is there. */
  readonly verification: VerificationPolicy | undefined;
  /** Where registry logins for all pods may lie; nowhere unless given. */
  readonly dockerConfigs?: readonly DockerConfigFile[] | undefined;
}

interface LogSettings {
  /** Link container logs where cluster log collectors look for them. */
  readonly areLinked: boolean;
  readonly rotation: LogRotationSettings;
}

interface PodSettings {
  /** How long a pod goes without a sync at most. */
  readonly resyncIntervalMs?: number | undefined;
  readonly crashLoop?: BackoffLimits | undefined;
  readonly deadContainers?: ContainerGcPolicy | undefined;
  /** How old the measured size of a volume may become. */
  readonly volumeStatsMs: number;
  /** Where the folders of claims lie on a node without a cluster. */
  readonly claimsFolder: string;
  /** Whether what CSI drivers say about the health of volumes is reported. */
  readonly volumeHealth: boolean;
}
