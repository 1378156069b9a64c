import type { ContainerStats, PodStats, Summary } from "../../model/stats-summary.ts";
import { formatMetrics, labelText, type MetricFamily, type MetricSample } from "./metric-text.ts";

type Reading = Omit<MetricSample, "labels">;

interface Definition<T> {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly read: (stats: T) => Reading | undefined;
}

const nanosPerSecond = 1e9;

const nodeDefinitions: readonly Definition<Summary["node"]>[] = [
  {
    name: "node_cpu_usage_seconds_total",
    help: "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
    type: "counter",
    read: cpuSeconds,
  },
  {
    name: "node_memory_working_set_bytes",
    help: "[STABLE] Current working set of the node in bytes",
    type: "gauge",
    read: workingSet,
  },
  {
    name: "node_swap_usage_bytes",
    help: "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
    type: "gauge",
    read: swapUsage,
  },
];

const podDefinitions: readonly Definition<PodStats>[] = [
  {
    name: "pod_cpu_usage_seconds_total",
    help: "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
    type: "counter",
    read: cpuSeconds,
  },
  {
    name: "pod_memory_working_set_bytes",
    help: "[STABLE] Current working set of the pod in bytes",
    type: "gauge",
    read: workingSet,
  },
  {
    name: "pod_swap_usage_bytes",
    help: "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
    type: "gauge",
    read: swapUsage,
  },
];

const containerDefinitions: readonly Definition<ContainerStats>[] = [
  {
    name: "container_start_time_seconds",
    help: "[STABLE] Start time of the container since unix epoch in seconds",
    type: "gauge",
    read: ({ startTimeMs }) => (startTimeMs < 1000 ? undefined : { value: startTimeMs / 1000 }),
  },
  {
    name: "container_cpu_usage_seconds_total",
    help: "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
    type: "counter",
    read: cpuSeconds,
  },
  {
    name: "container_memory_working_set_bytes",
    help: "[STABLE] Current working set of the container in bytes",
    type: "gauge",
    read: workingSet,
  },
  {
    name: "container_swap_usage_bytes",
    help: "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
    type: "gauge",
    read: swapUsage,
  },
  {
    name: "container_swap_limit_bytes",
    help: "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
    type: "gauge",
    read: ({ swap }) => {
      const { swapAvailableBytes, swapUsageBytes = 0, timeMs } = swap ?? {};
      if (swapAvailableBytes === undefined) return undefined;
      return { value: swapAvailableBytes + swapUsageBytes, timeMs };
    },
  },
];

/** The page /metrics/resource; without a summary it says that there was an error. */
export function formatResourceMetrics(summary: Summary | undefined): string {
  const pods = summary?.pods ?? [];
  const podLabels = ({ podRef }: PodStats) => ({ pod: podRef.name, namespace: podRef.namespace });
  const nodes = summary === undefined ? [] : [{ labels: labelText({}), stats: summary.node }];
  const podStats = pods.map((stats) => ({ labels: labelText(podLabels(stats)), stats }));
  const containerStats = pods.flatMap((pod) =>
    pod.containers.map((stats) => ({
      labels: labelText({ ...podLabels(pod), container: stats.name }),
      stats,
    })),
  );
  return formatMetrics([
    ...nodeDefinitions.map((definition) => familyOf(definition, nodes)),
    ...podDefinitions.map((definition) => familyOf(definition, podStats)),
    ...containerDefinitions.map((definition) => familyOf(definition, containerStats)),
    {
      name: "resource_scrape_error",
      help: "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
      type: "gauge",
      samples: [{ labels: labelText({}), value: summary === undefined ? 1 : 0 }],
    },
  ]);
}

function familyOf<T>(
  { name, help, type, read }: Definition<T>,
  owners: readonly { readonly labels: string; readonly stats: T }[],
): MetricFamily {
  const samples = owners.flatMap(({ labels, stats }) => {
    const reading = read(stats);
    return reading === undefined ? [] : [{ labels, ...reading }];
  });
  return { name, help, type, samples };
}

type Usage = Pick<ContainerStats, "cpu" | "memory" | "swap">;

function cpuSeconds({ cpu }: Usage): Reading | undefined {
  if (cpu?.usageCoreNanoSeconds === undefined) return undefined;
  return { value: cpu.usageCoreNanoSeconds / nanosPerSecond, timeMs: cpu.timeMs };
}

function workingSet({ memory }: Usage): Reading | undefined {
  if (memory?.workingSetBytes === undefined) return undefined;
  return { value: memory.workingSetBytes, timeMs: memory.timeMs };
}

function swapUsage({ swap }: Usage): Reading | undefined {
  if (swap?.swapUsageBytes === undefined) return undefined;
  return { value: swap.swapUsageBytes, timeMs: swap.timeMs };
}
