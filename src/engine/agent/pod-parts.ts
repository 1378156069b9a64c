import type { MemoryReserve } from "../../core/resource/cgroup-resources.ts";
import { podsRootResources } from "../../core/resource/node-cgroups.ts";
import { amountOf, resourceList } from "../../core/resource/resource-list.ts";
import { quantityValue } from "../../model/quantity.ts";
import type { ExecutorDeps } from "../execute/execute-plan.ts";
import { NodePodConfigs } from "../execute/node-pod-configs.ts";
import { Restarts } from "../execute/restarts.ts";
import { RuntimeFacts } from "../execute/runtime-facts.ts";
import { CredentialProviders } from "../images/credential-providers.ts";
import { ImageManager } from "../images/image-manager.ts";
import { NodeLogins } from "../images/node-logins.ts";
import { PullCredentials } from "../images/pull-credentials.ts";
import { PullRecords } from "../images/pull-records.ts";
import { WorkQueue } from "../loop/work-queue.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { createNodeSyncer } from "../pods/node-syncer.ts";
import { PodRemains } from "../pods/pod-remains.ts";
import type { PodStage } from "../pods/pod-stage.ts";
import { createPodStages } from "../pods/pod-stages.ts";
import { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import { PodWorkers } from "../pods/pod-workers.ts";
import { noObjects } from "../pods/stages/objects-stage.ts";
import { Prober } from "../probes/prober.ts";
import {
  createResourceRecords,
  type PodResourceRecords,
} from "../resources/allocation/create-allocations.ts";
import { NodePodCgroups, type PodCgroupSettings } from "../resources/pod-cgroups.ts";
import { UserNamespaces } from "../resources/user-namespaces.ts";
import { PodStatuses } from "../status/pod-statuses.ts";
import { VolumeManager } from "../volumes/volume-manager.ts";
import type { AgentBase } from "./agent-base.ts";
import type { AgentSettings } from "./agent-ports.ts";

const pullBackoff = { initialMs: 10_000, maxMs: 300_000 };

/** What runs pods: their resources, statuses, probes, images, volumes and stages, the executor and the workers. */
export class PodParts {
  readonly records: PodResourceRecords;
  readonly active: ActivePods;
  readonly cgroups: NodePodCgroups;
  readonly starts: PodStartMetrics;
  readonly statuses: PodStatuses;
  readonly prober: Prober;
  readonly images: ImageManager;
  readonly volumes: VolumeManager;
  readonly stages: readonly PodStage[];
  readonly executor: ExecutorDeps;
  readonly remains: PodRemains;
  readonly queue: WorkQueue;
  readonly workers: PodWorkers;

  constructor(base: AgentBase) {
    const { ports, settings, table, faults, changes, memory, observed, wakeups } = base;
    const { clock, metrics } = ports;
    this.records = createResourceRecords(table, ports, settings.rootFolder);
    this.active = new ActivePods(table, faults);
    this.cgroups = new NodePodCgroups({
      cgroups: ports.cgroups,
      settings: cgroupSettings(settings),
      pods: this.active,
      lifetime: base.lifetime,
      clock,
      metrics,
    });
    this.starts = new PodStartMetrics(table, metrics, clock);
    this.statuses = this.#createStatuses(base);
    this.prober = this.#createProber(base);
    this.images = this.#createImages(base);
    this.volumes = createVolumes(base);
    this.stages = this.#createStages(base);
    this.executor = this.#createExecutor(base);
    const { executor, stages } = this;
    this.remains = new PodRemains({
      ports,
      table,
      executor,
      stages,
      changes,
      memory,
      observed,
      wakeups,
      lifetime: base.lifetime,
    });
    this.queue = new WorkQueue({ ports, table, wakeups }, settings.resyncIntervalMs);
    this.workers = this.#createWorkers(base);
  }

  #createStatuses(base: AgentBase): PodStatuses {
    const { table, registry, cluster, node, recorder, startedAtMs } = base;
    const { clock, log, metrics } = base.ports;
    const { checkpoints } = base.memory;
    const { starts, records, cgroups } = this;
    return new PodStatuses({
      table,
      registry,
      clock,
      log,
      metrics,
      starts,
      cluster,
      checkpoints,
      inputs: {
        clock,
        table,
        agentStartedAtMs: startedAtMs,
        resizes: records.resizes,
        cgroups,
        node,
        recorder,
      },
    });
  }

  #createProber(base: AgentBase): Prober {
    const { clock, random, probeRunner, metrics } = base.ports;
    const { table, events, faults, wakeups } = base;
    return new Prober({
      table,
      statuses: this.statuses,
      runner: probeRunner,
      events,
      faults,
      metrics,
      wakeups,
      clock,
      random,
      agentStartedAtMs: base.startedAtMs,
    });
  }

  #createImages({ ports, settings, table, changes }: AgentBase): ImageManager {
    const { runtime, clock, files, sha256, log, pullProgress, metrics } = ports;
    const folder = `${settings.rootFolder}/image_manager`;
    return new ImageManager({
      table,
      changes,
      starts: this.starts,
      images: runtime,
      clock,
      metrics,
      backoff: pullBackoff,
      pulls: settings.imagePulls,
      progress: pullProgress,
      records: new PullRecords({ files, folder, sha256, clock, log, metrics }),
    });
  }

  #createStages({ ports, settings, table, events, cluster }: AgentBase): readonly PodStage[] {
    const { files, foreignFiles } = ports;
    const { rootFolder, runtimeSettings } = settings;
    const { podLogsRoot } = runtimeSettings;
    const { cgroups, volumes, prober, records } = this;
    return createPodStages({
      objects: cluster ?? noObjects,
      cgroup: { cgroups, actuated: records.actuated, events },
      folders: { table, files, foreignFiles, rootFolder, podLogsRoot, events },
      volumes,
      probes: prober,
    });
  }

  #createExecutor(base: AgentBase): ExecutorDeps {
    const { ports, settings, table, events, lifetime } = base;
    const { runtime, clock, files, log, metrics, hookHttp: http } = ports;
    const { images, cgroups, records } = this;
    const { actuated } = records;
    const configs = this.#createConfigs(base);
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
      restarts: new Restarts({ table, clock, limits: settings.crashLoop }),
      progress: ports.watchdog?.progress,
    };
  }

  #createConfigs(base: AgentBase): NodePodConfigs {
    const { ports, settings, node, events, objects, lifetime } = base;
    const { files, runtime } = ports;
    const { rootFolder } = settings;
    const { cgroups, volumes } = this;
    const runtimeFacts = new RuntimeFacts(runtime, lifetime);
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
      userNamespaces: new UserNamespaces({ files, rootFolder, maxPods, runtimeFacts }),
    });
  }

  #createWorkers(base: AgentBase): PodWorkers {
    const { ports, table, states, observed, events, faults } = base;
    const { recorder, health, changes, wakeups } = base;
    const { executor, statuses, stages, cgroups, records, queue } = this;
    const credentials = createPullCredentials(base);
    const sync = {
      executor,
      statuses,
      records,
      table,
      cgroups,
      stages,
      recorder,
      health,
      credentials,
      wakeups,
    };
    const end = { executor, statuses, stages, recorder, observed, wakeups };
    return new PodWorkers({
      table,
      states,
      syncer: createNodeSyncer(sync, end, ports),
      observed,
      queue,
      ports,
      events,
      faults,
      changes,
      wakeups,
    });
  }
}

function cgroupSettings(settings: AgentSettings): PodCgroupSettings {
  const { cgroupDriver, cgroupRoot, nodeCgroups, runtimeSettings, node } = settings;
  const { perQos, podPidsLimit, maxPids, reservations } = nodeCgroups;
  const { cpuCfsQuota, cpuCfsPeriodUs } = runtimeSettings;
  return {
    driver: cgroupDriver,
    root: cgroupRoot,
    cpuQuota: { enforceCpuLimits: cpuCfsQuota, cpuPeriodUs: cpuCfsPeriodUs },
    rootResources: podsRootResources(node.status?.capacity ?? {}, maxPids, reservations),
    perQos,
    podPidsLimit,
    memoryReserve: memoryReserve(settings),
  };
}

function memoryReserve({ nodeCgroups, node }: AgentSettings): MemoryReserve | undefined {
  const { qosMemoryPercent: percent } = nodeCgroups;
  if (percent === undefined) return undefined;
  const memory = amountOf(resourceList(node.status?.allocatable), "memory");
  return { percent, allocatableBytes: quantityValue(memory) };
}

function createVolumes(base: AgentBase): VolumeManager {
  const { files, payloadFiles, foreignFiles, mounts, log, metrics, clock } = base.ports;
  const { table, objects, cluster, events, lifetime } = base;
  const { rootFolder, node } = base.settings;
  return new VolumeManager({
    table,
    rootFolder,
    files,
    payloadFiles,
    foreignFiles,
    mounts,
    objects,
    tokens: cluster?.tokens,
    allocatable: node.status?.allocatable ?? {},
    events,
    metrics,
    clock,
    log,
    lifetime,
  });
}

function createPullCredentials(base: AgentBase): PullCredentials {
  const { objects, events, lifetime } = base;
  const { clock, files, log, metrics, sha256, credentialPlugins: plugins } = base.ports;
  const { credentialProviders: providers, dockerConfigs: candidates = [] } = base.settings;
  const own = new NodeLogins({ candidates, files, clock, log });
  const asked = new CredentialProviders({ providers, plugins, clock, log, metrics, lifetime });
  return new PullCredentials(objects, events, [own, asked], sha256);
}
