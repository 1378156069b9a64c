import type { ExecutorDeps } from "../execute/execute-plan.ts";
import { LeftoverEnds } from "../execute/leftover-ends.ts";
import { NodePodConfigs } from "../execute/node-pod-configs.ts";
import { Restarts } from "../execute/restarts.ts";
import { RuntimeFacts } from "../execute/runtime-facts.ts";
import { CredentialProviders } from "../images/credential-providers.ts";
import { ImageManager } from "../images/image-manager.ts";
import { NodeLogins } from "../images/node-logins.ts";
import { PullCredentials } from "../images/pull-credentials.ts";
import { createPullRecords } from "../images/pull-records.ts";
import { WorkQueue } from "../loop/work-queue.ts";
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
} from "../resources/allocation/resource-records.ts";
import { podCgroupSettings } from "../resources/node-cgroups.ts";
import { NodePodCgroups } from "../resources/pod-cgroups.ts";
import { UserNamespaces } from "../resources/user-namespaces.ts";
import { PodStatuses } from "../status/pod-statuses.ts";
import type { Base, FieldsOf } from "./agent-base.ts";
import type { WithStorage } from "./storage-parts.ts";

const pullBackoff = { initialMs: 10_000, maxMs: 300_000 };

/** The same with what runs pods. */
export type WithPods = WithStorage & FieldsOf<PodParts>;

/** What runs pods: their resources, statuses, probes, images and stages, the executor and the workers. */
export class PodParts {
  readonly records: PodResourceRecords;
  readonly cgroups: NodePodCgroups;
  readonly starts: PodStartMetrics;
  readonly statuses: PodStatuses;
  readonly prober: Prober;
  readonly images: ImageManager;
  readonly remains: PodRemains;
  readonly queue: WorkQueue;
  readonly workers: PodWorkers;

  constructor(base: WithStorage) {
    const { settings, table, cluster } = base;
    const { admission } = settings.node;
    this.records = createResourceRecords(base);
    this.cgroups = new NodePodCgroups({
      ...base,
      settings: podCgroupSettings(settings.cgroups, settings.runtimeSettings, admission.node),
    });
    const resources = { ...base, ...this.records, records: this.records, cgroups: this.cgroups };
    this.starts = new PodStartMetrics(table, base.metrics, base.clock);
    this.statuses = new PodStatuses({ ...base, starts: this.starts, inputs: resources });
    this.prober = new Prober({ ...base, statuses: this.statuses, runner: base.probeRunner });
    this.images = new ImageManager({
      ...base,
      starts: this.starts,
      backoff: pullBackoff,
      pulls: settings.images.pulls,
      records: createPullRecords(base),
    });
    const parts = { ...resources, images: this.images, prober: this.prober };
    const stages = createPodStages({ ...parts, objects: cluster ?? noObjects });
    const acting = { ...parts, statuses: this.statuses, stages, executor: createExecutor(parts) };
    const sync = { ...acting, credentials: createPullCredentials(base) };
    const syncer = createNodeSyncer(sync, sync, base);
    this.queue = new WorkQueue(base, settings.pods.resyncIntervalMs);
    this.workers = new PodWorkers({ ...base, ports: base, queue: this.queue, syncer });
    this.remains = new PodRemains({ ...acting, ports: base });
  }
}

function createExecutor(
  parts: WithStorage & Pick<PodParts, "images" | "cgroups"> & PodResourceRecords,
): ExecutorDeps {
  const { settings } = parts;
  const logs = { root: parts.podLogsRoot, areLinked: settings.logs.areLinked };
  const runtimeFacts = new RuntimeFacts(parts.runtime, parts.lifetime);
  const configs = new NodePodConfigs({
    ...parts,
    ports: parts,
    settings: { ...settings, clusterDomain: settings.node.clusterDomain },
    runtimeFacts,
    userNamespaces: new UserNamespaces({ ...parts, runtimeFacts }),
  });
  return {
    kill: parts,
    remove: parts,
    start: { ...parts, kill: parts, configs, logs },
    leftovers: new LeftoverEnds(parts.clock),
    resize: { ...parts, configs },
    restarts: new Restarts({ ...parts, limits: settings.pods.crashLoop }),
    watchdog: parts.watchdog,
  };
}

function createPullCredentials(base: Base): PullCredentials {
  const { credentialProviders: providers, dockerConfigs: candidates = [] } = base.settings.images;
  const own = new NodeLogins({ ...base, candidates });
  const asked = new CredentialProviders({ ...base, providers, plugins: base.credentialPlugins });
  return new PullCredentials(base.objects, base.events, [own, asked], base.sha256);
}
