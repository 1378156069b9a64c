import type { MetricName } from "../../model/generated/metrics.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { NodeManagers } from "../devices/node-managers.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PluginRegistry } from "../plugins/plugin-registry.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { WorkerStates } from "../pods/worker-states.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import type { StorageManager } from "../volumes/storage-manager.ts";

export interface CollectMetricsDeps {
  readonly metrics: Metrics;
  readonly registry: Pick<PodRegistry, "list" | "mirrorCount">;
  readonly active: Pick<ActivePods, "has">;
  readonly states: Pick<WorkerStates, "of">;
  readonly observed: Pick<ObservedPods, "all">;
  readonly storage: Pick<StorageManager, "countByPlugin">;
  readonly pluginRegistry: Pick<PluginRegistry, "collect">;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "podCertificates"> | undefined;
  readonly managers: Pick<NodeManagers, "collectMetrics">;
  readonly records: { readonly resizes: Pick<ResizeStatuses, "collect"> };
}

/** Sets the gauges of what is there now, for a scrape of the metrics. */
export function collectMetrics(deps: CollectMetricsDeps): void {
  deps.records.resizes.collect(deps.metrics);
  countPods(deps);
  countObserved(deps);
  countVolumes(deps);
  deps.pluginRegistry.collect(deps.metrics);
  deps.managers.collectMetrics();
  deps.cluster?.podCertificates?.collect(deps.metrics);
}

function countPods({ metrics, registry, active, states }: CollectMetricsDeps): void {
  const pods = registry.list();
  for (const [name, list] of [
    ["kubelet_desired_pods", pods],
    ["kubelet_active_pods", pods.filter(({ metadata }) => active.has(metadata.uid))],
  ] as const) {
    const statics = list.filter(isStaticPod).length;
    metrics.set(name, list.length - statics, { static: "" });
    metrics.set(name, statics, { static: "true" });
  }
  // Those that none was counted for yet are shown too.
  for (const label of ["", "true"]) {
    metrics.increment("kubelet_restarted_pods_total", { static: label }, 0);
  }
  metrics.set("kubelet_mirror_pods", registry.mirrorCount);
  countBy(metrics, "kubelet_working_pods", pods, (pod) => ({
    lifecycle: lifecycleOf(states.of(pod.metadata.uid)),
    config: "desired",
    static: isStaticPod(pod) ? "true" : "",
  }));
  const ephemeral = pods.map(({ spec }) => spec.ephemeralContainers?.length ?? 0);
  const managed = ephemeral.reduce((sum, count) => sum + count, 0);
  metrics.set("kubelet_managed_ephemeral_containers", managed);
}

function countObserved({ metrics, observed }: CollectMetricsDeps): void {
  const pods = [...observed.all()];
  const containers = pods.flatMap((pod) => pod.containers);
  countBy(metrics, "kubelet_running_containers", containers, ({ state }) => ({
    container_state: state,
  }));
  const running = pods.filter(({ sandboxes }) => sandboxes[0]?.state === "ready");
  metrics.set("kubelet_running_pods", running.length);
}

function countVolumes({ metrics, storage }: CollectMetricsDeps): void {
  metrics.reset("volume_manager_total_volumes");
  for (const [state, byPlugin] of Object.entries(storage.countByPlugin())) {
    for (const [plugin, count] of byPlugin) {
      metrics.set("volume_manager_total_volumes", count, { plugin_name: plugin, state });
    }
  }
}

function countBy<T>(
  metrics: Metrics,
  name: MetricName,
  items: readonly T[],
  labelsOf: (item: T) => Readonly<Record<string, string>>,
): void {
  metrics.reset(name);
  for (const item of items) metrics.increment(name, labelsOf(item));
}

function lifecycleOf(state: string | undefined): string {
  return state === "terminating" || state === "terminated" ? state : "sync";
}
