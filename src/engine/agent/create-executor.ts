import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import type { ExecutorDeps } from "../execute/execute-plan.ts";
import { NodePodConfigs } from "../execute/node-pod-configs.ts";
import type { PodConfigs } from "../execute/pod-configs.ts";
import { Restarts } from "../execute/restarts.ts";
import { RuntimeFacts } from "../execute/runtime-facts.ts";
import { CredentialProviders } from "../images/credential-providers.ts";
import type { ImageManager } from "../images/image-manager.ts";
import { NodeLogins } from "../images/node-logins.ts";
import { PullCredentials } from "../images/pull-credentials.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import { UserNamespaces } from "../resources/user-namespaces.ts";
import type { EventLog } from "../view/event-log.ts";
import type { VolumeManager } from "../volumes/volume-manager.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";

export interface NodeBasics {
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly events: EventLog;
  readonly lifetime: AbortSignal;
}

interface ExecutorParts extends NodeBasics {
  readonly table: PodTable;
  readonly images: ImageManager;
  readonly configs: PodConfigs;
  readonly allocations: PodAllocations;
  readonly cgroups: NodePodCgroups;
}

/** What carries plans out. */
export function createExecutor(parts: ExecutorParts): ExecutorDeps {
  const { ports, settings, events, lifetime, images, configs, cgroups } = parts;
  const { runtime, clock, files, log, metrics, hookHttp: http } = ports;
  const { actuated } = parts.allocations;
  const kill = { runtime, http, clock, events, metrics, log };
  return {
    kill,
    start: {
      kill,
      runtime,
      images,
      configs,
      actuated,
      files,
      events,
      podLogsRoot: settings.runtimeSettings.podLogsRoot,
      linkLogs: settings.linkLogs,
      lifetime,
    },
    resize: { runtime, configs, cgroups, actuated, clock, metrics, log, lifetime },
    restarts: new Restarts({ table: parts.table, clock, limits: settings.crashLoop }),
    progress: ports.watchdog?.progress,
  };
}

interface CredentialParts extends NodeBasics {
  readonly objects: ObjectStore;
}

export function createPullCredentials(parts: CredentialParts): PullCredentials {
  const { ports, settings, objects, events, lifetime } = parts;
  const { clock, files, log, metrics, credentialPlugins: plugins } = ports;
  const { credentialProviders: providers, dockerConfigs: candidates = [] } = settings;
  const own = new NodeLogins({ candidates, files, clock, log });
  const asked = new CredentialProviders({ providers, plugins, clock, log, metrics, lifetime });
  return new PullCredentials(objects, events, [own, asked], ports.sha256);
}

interface PodConfigParts extends NodeBasics {
  readonly node: KnownNode;
  readonly cgroups: NodePodCgroups;
  readonly volumes: VolumeManager;
  readonly objects: ObjectStore & RuntimeClassStore & ServiceStore;
}

export function createPodConfigs(parts: PodConfigParts): NodePodConfigs {
  const { ports, settings, node, events, cgroups, volumes, objects, lifetime } = parts;
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
    objects,
    userNamespaces: new UserNamespaces({ files: ports.files, rootFolder, maxPods, runtimeFacts }),
  });
}
