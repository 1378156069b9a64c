import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import { NodePodConfigs } from "../execute/node-pod-configs.ts";
import type { Restarts } from "../execute/restarts.ts";
import { RuntimeFacts } from "../execute/runtime-facts.ts";
import { CredentialProviders } from "../images/credential-providers.ts";
import type { ImageManager } from "../images/image-manager.ts";
import { NodeLogins } from "../images/node-logins.ts";
import { PullCredentials } from "../images/pull-credentials.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { RuntimeHealth } from "../observe/runtime-health.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import { UserNamespaces } from "../resources/user-namespaces.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import type { EventLog } from "../view/event-log.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";
import type { VolumeManager } from "../volumes/volume-manager.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";
import type { NodeDeps } from "./node-deps.ts";

/** The parts of the agent that the recipes of a pod work with. */
export interface NodeParts
  extends Pick<
    NodeDeps,
    "lifetime" | "stages" | "requestRead" | "readWhenQuiet" | "requestSync" | "readNewer" | "follow"
  > {
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  /** Those that lie beside the pods of a node without a cluster. */
  readonly objects: ObjectStore & RuntimeClassStore & ServiceStore;
  readonly cluster: ClusterParts | undefined;
  readonly node: KnownNode;
  readonly images: ImageManager;
  readonly events: EventLog;
  readonly allocations: PodAllocations;
  readonly statuses: PodStatuses;
  readonly table: PodTable;
  readonly restarts: Restarts;
  readonly cgroups: NodePodCgroups;
  readonly volumes: VolumeManager;
  readonly recorder: FlightRecorder;
  readonly health: RuntimeHealth;
}

export function createNodeDeps(parts: NodeParts): NodeDeps {
  const { ports, settings, events, health } = parts;
  const { runtime, clock, files, log, hookHttp } = ports;
  const credentials = createPullCredentials(parts);
  return {
    runtime,
    images: parts.images,
    configs: createPodConfigs(parts),
    restarts: parts.restarts,
    progress: ports.watchdog?.progress,
    http: hookHttp,
    files,
    clock,
    log,
    events,
    lifetime: parts.lifetime,
    podLogsRoot: settings.runtimeSettings.podLogsRoot,
    linkLogs: settings.linkLogs,
    metrics: ports.metrics,
    actuated: parts.allocations.actuated,
    resizes: parts.allocations.resizes,
    allocationsKept: () => parts.allocations.kept(),
    statuses: parts.statuses,
    table: parts.table,
    cgroups: parts.cgroups,
    stages: parts.stages,
    recorder: parts.recorder,
    networkProblem: () => health.networkProblem,
    requestRead: parts.requestRead,
    readWhenQuiet: parts.readWhenQuiet,
    requestSync: parts.requestSync,
    readNewer: parts.readNewer,
    follow: parts.follow,
    pullCredentials: (pod) => credentials.of(pod),
  };
}

function createPullCredentials(parts: NodeParts): PullCredentials {
  const { ports, settings, cluster, events, lifetime } = parts;
  const objects = cluster?.objects ?? parts.objects;
  const { clock, files, log, metrics, credentialPlugins: plugins } = ports;
  const { credentialProviders: providers, dockerConfigs: candidates = [] } = settings;
  const own = new NodeLogins({ candidates, files, clock, log });
  const asked = new CredentialProviders({ providers, plugins, clock, log, metrics, lifetime });
  return new PullCredentials(objects, events, [own, asked], ports.sha256);
}

function createPodConfigs(parts: NodeParts): NodePodConfigs {
  const { ports, settings, node, cluster, events, cgroups, volumes, lifetime } = parts;
  const { rootFolder } = settings;
  const runtimeFacts = new RuntimeFacts(ports.runtime, lifetime);
  const maxPods = Number(settings.node.status?.capacity?.["pods"] ?? 0);
  return new NodePodConfigs({
    ports,
    settings,
    runtimeFacts,
    node,
    events,
    cgroups,
    volumes,
    objects: cluster?.objects ?? parts.objects,
    userNamespaces: new UserNamespaces({ files: ports.files, rootFolder, maxPods, runtimeFacts }),
  });
}
