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
import { createPodStages } from "../pods/pod-stages.ts";
import { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import { PodWorkers } from "../pods/pod-workers.ts";
import { noObjects } from "../pods/stages/objects-stage.ts";
import { Prober } from "../probes/prober.ts";
import {
  createResourceRecords,
  type PodResourceRecords,
} from "../resources/allocation/create-allocations.ts";
import { podCgroupSettings } from "../resources/node-cgroups.ts";
import { NodePodCgroups } from "../resources/pod-cgroups.ts";
import { UserNamespaces } from "../resources/user-namespaces.ts";
import { PodStatuses } from "../status/pod-statuses.ts";
import { VolumeManager } from "../volumes/volume-manager.ts";
import type { Base } from "./agent-base.ts";

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
  readonly remains: PodRemains;
  readonly queue: WorkQueue;
  readonly workers: PodWorkers;

  constructor(base: Base) {
    const { settings, table, cluster } = base;
    const { admission } = settings.node;
    const records = createResourceRecords(base);
    const active = new ActivePods(table, base.faults);
    const cgroups = new NodePodCgroups({
      ...base,
      cgroups: base.hostCgroups,
      settings: podCgroupSettings(settings.cgroups, settings.runtimeSettings, admission.node),
      pods: active,
    });
    const starts = new PodStartMetrics(table, base.metrics, base.clock);
    const inputs = { ...base, resizes: records.resizes, cgroups };
    const statuses = new PodStatuses({ ...base, starts, inputs });
    const prober = new Prober({ ...base, statuses, runner: base.probeRunner });
    const images = new ImageManager({
      ...base,
      starts,
      images: base.runtime,
      backoff: pullBackoff,
      pulls: settings.images.pulls,
      records: new PullRecords({ ...base, folder: `${base.rootFolder}/image_manager` }),
    });
    const { allocatable = {} } = admission.node.status ?? {};
    const volumes = new VolumeManager({ ...base, tokens: cluster?.tokens, allocatable });
    const { actuated } = records;
    const objects = cluster ?? noObjects;
    const stages = createPodStages({ ...base, objects, cgroups, actuated, volumes, prober });
    const executor = createExecutor(base, { images, volumes, cgroups, actuated });
    const queue = new WorkQueue(base, settings.pods.resyncIntervalMs);
    const sync = {
      ...base,
      executor,
      statuses,
      records,
      cgroups,
      stages,
      credentials: createPullCredentials(base),
    };
    this.workers = new PodWorkers({
      ...base,
      syncer: createNodeSyncer(sync, sync, base),
      queue,
      ports: base,
    });
    this.remains = new PodRemains({ ...base, ports: base, executor, stages });
    this.records = records;
    this.active = active;
    this.cgroups = cgroups;
    this.starts = starts;
    this.statuses = statuses;
    this.prober = prober;
    this.images = images;
    this.volumes = volumes;
    this.queue = queue;
  }
}

function createExecutor(
  base: Base,
  parts: Pick<PodParts, "images" | "volumes" | "cgroups"> & Pick<PodResourceRecords, "actuated">,
): ExecutorDeps {
  const { settings, lifetime } = base;
  const runtimeFacts = new RuntimeFacts(base.runtime, lifetime);
  const maxPods = Number(settings.node.admission.node.status?.capacity?.["pods"] ?? 0);
  const configs = new NodePodConfigs({
    ...base,
    ...parts,
    ports: base,
    settings: { ...settings, clusterDomain: settings.node.clusterDomain },
    runtimeFacts,
    userNamespaces: new UserNamespaces({ ...base, maxPods, runtimeFacts }),
  });
  const shared = { ...base, ...parts, configs };
  return {
    kill: base,
    start: { ...shared, kill: base, linkLogs: settings.logs.areLinked },
    resize: shared,
    restarts: new Restarts({ ...base, limits: settings.pods.crashLoop }),
    progress: base.watchdog?.progress,
  };
}

function createPullCredentials(base: Base): PullCredentials {
  const { credentialProviders: providers, dockerConfigs: candidates = [] } = base.settings.images;
  const own = new NodeLogins({ ...base, candidates });
  const asked = new CredentialProviders({ ...base, providers, plugins: base.credentialPlugins });
  return new PullCredentials(base.objects, base.events, [own, asked], base.sha256);
}
