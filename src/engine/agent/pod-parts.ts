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
import type { AgentSettings } from "./agent-settings.ts";

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
    const { clock, entropy, machine } = ports;
    const { log, metrics } = ports.telemetry;
    const { host: files } = ports.files;
    const { rootFolder, pods } = settings;
    this.records = createResourceRecords(table, { files, log, clock }, rootFolder);
    this.active = new ActivePods(table, faults);
    this.cgroups = new NodePodCgroups({
      cgroups: machine.cgroups,
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
      ports: { clock, log, metrics },
      table,
      executor,
      stages,
      changes,
      memory,
      observed,
      wakeups,
      lifetime: base.lifetime,
    });
    this.queue = new WorkQueue(
      { clock, random: entropy.random, table, wakeups },
      pods.resyncIntervalMs,
    );
    this.workers = this.#createWorkers(base);
  }

  #createStatuses(base: AgentBase): PodStatuses {
    const { table, registry, cluster, node, recorder, startedAtMs } = base;
    const { clock } = base.ports;
    const { log, metrics } = base.ports.telemetry;
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
    const { clock, entropy, runtime, telemetry } = base.ports;
    const { table, events, faults, wakeups } = base;
    return new Prober({
      table,
      statuses: this.statuses,
      runner: runtime.probeRunner,
      events,
      faults,
      metrics: telemetry.metrics,
      wakeups,
      clock,
      random: entropy.random,
      agentStartedAtMs: base.startedAtMs,
    });
  }

  #createImages({ ports, settings, table, changes }: AgentBase): ImageManager {
    const { clock, runtime, sha256 } = ports;
    const { host: files } = ports.files;
    const { log, metrics } = ports.telemetry;
    const folder = `${settings.rootFolder}/image_manager`;
    return new ImageManager({
      table,
      changes,
      starts: this.starts,
      images: runtime.client,
      clock,
      metrics,
      backoff: pullBackoff,
      pulls: settings.images.pulls,
      progress: runtime.pullProgress,
      records: new PullRecords({ files, folder, sha256, clock, log, metrics }),
    });
  }

  #createStages({ ports, settings, table, events, cluster }: AgentBase): readonly PodStage[] {
    const { host: files, foreignFiles } = ports.files;
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
    const { clock } = ports;
    const { client: runtime, hookHttp: http } = ports.runtime;
    const { log, metrics, watchdog } = ports.telemetry;
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
        files: ports.files.host,
        events,
        podLogsRoot: settings.runtimeSettings.podLogsRoot,
        linkLogs: settings.logs.areLinked,
        lifetime,
      },
      resize: { runtime, configs, cgroups, actuated, clock, metrics, log, lifetime },
      restarts: new Restarts({ table, clock, limits: settings.pods.crashLoop }),
      progress: watchdog?.progress,
    };
  }

  #createConfigs(base: AgentBase): NodePodConfigs {
    const { ports, settings, node, events, objects, lifetime } = base;
    const { client: runtime } = ports.runtime;
    const { host: files } = ports.files;
    const { readNodeDns } = ports.machine;
    const { uniqueName } = ports.entropy;
    const { rootFolder, runtimeSettings } = settings;
    const { admission, clusterDomain } = settings.node;
    const { cgroups, volumes } = this;
    const runtimeFacts = new RuntimeFacts(runtime, lifetime);
    const maxPods = Number(admission.node.status?.capacity?.["pods"] ?? 0);
    return new NodePodConfigs({
      ports: { images: runtime, files, readNodeDns, uniqueName },
      settings: { rootFolder, clusterDomain, runtimeSettings },
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
    const { clock, telemetry } = ports;
    const { log, metrics, tracer } = telemetry;
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
      syncer: createNodeSyncer(sync, end, { clock, metrics, tracer }),
      observed,
      queue,
      ports: { clock, log, metrics },
      events,
      faults,
      changes,
      wakeups,
    });
  }
}

function cgroupSettings(settings: AgentSettings): PodCgroupSettings {
  const { cgroups, runtimeSettings } = settings;
  const { node } = settings.node.admission;
  const { perQos, podPidsLimit, maxPids, reservations } = cgroups.node;
  const { cpuCfsQuota, cpuCfsPeriodUs } = runtimeSettings;
  return {
    driver: cgroups.driver,
    root: cgroups.root,
    cpuQuota: { enforceCpuLimits: cpuCfsQuota, cpuPeriodUs: cpuCfsPeriodUs },
    rootResources: podsRootResources(node.status?.capacity ?? {}, maxPids, reservations),
    perQos,
    podPidsLimit,
    memoryReserve: memoryReserve(settings),
  };
}

function memoryReserve({ cgroups, node }: AgentSettings): MemoryReserve | undefined {
  const { qosMemoryPercent: percent } = cgroups.node;
  if (percent === undefined) return undefined;
  const memory = amountOf(resourceList(node.admission.node.status?.allocatable), "memory");
  return { percent, allocatableBytes: quantityValue(memory) };
}

function createVolumes(base: AgentBase): VolumeManager {
  const { clock } = base.ports;
  const { host: files, payloadFiles, foreignFiles, mounts } = base.ports.files;
  const { log, metrics } = base.ports.telemetry;
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
    allocatable: node.admission.node.status?.allocatable ?? {},
    events,
    metrics,
    clock,
    log,
    lifetime,
  });
}

function createPullCredentials(base: AgentBase): PullCredentials {
  const { objects, events, lifetime } = base;
  const { clock, sha256 } = base.ports;
  const { host: files } = base.ports.files;
  const { log, metrics } = base.ports.telemetry;
  const { credentialPlugins: plugins } = base.ports.runtime;
  const { credentialProviders: providers, dockerConfigs: candidates = [] } = base.settings.images;
  const own = new NodeLogins({ candidates, files, clock, log });
  const asked = new CredentialProviders({ providers, plugins, clock, log, metrics, lifetime });
  return new PullCredentials(objects, events, [own, asked], sha256);
}
