import { expect, test } from "vitest";
import type { Summary } from "../../model/stats-summary.ts";
import { formatResourceMetrics } from "./resource-metrics.ts";

const used = {
  cpu: { timeMs: 1_700_000_000_500, usageCoreNanoSeconds: 2_500_000_000 },
  memory: { timeMs: 1_700_000_000_500, workingSetBytes: 4096 },
  swap: { timeMs: 1_700_000_000_500, swapUsageBytes: 0, swapAvailableBytes: 10 },
};

const summary: Summary = {
  node: { nodeName: "node", startTimeMs: 0, ...used },
  pods: [
    {
      podRef: { name: "web", namespace: "default", uid: "1" },
      startTimeMs: 1_600_000_000_000,
      containers: [{ name: 'ma"in', startTimeMs: 1_600_000_000_250, ...used }],
      ...used,
    },
  ],
};

test("the page shows node, pods and containers as a kubelet does", () => {
  const labels = 'container="ma\\"in",namespace="default",pod="web"';
  expect(formatResourceMetrics(summary)).toBe(
    [
      "# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds",
      "# TYPE container_cpu_usage_seconds_total counter",
      `container_cpu_usage_seconds_total{${labels}} 2.5 1700000000500`,
      "# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes",
      "# TYPE container_memory_working_set_bytes gauge",
      `container_memory_working_set_bytes{${labels}} 4096 1700000000500`,
      "# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds",
      "# TYPE container_start_time_seconds gauge",
      `container_start_time_seconds{${labels}} 1.60000000025e+09`,
      "# HELP container_swap_limit_bytes [ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
      "# TYPE container_swap_limit_bytes gauge",
      `container_swap_limit_bytes{${labels}} 10 1700000000500`,
      "# HELP container_swap_usage_bytes [ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
      "# TYPE container_swap_usage_bytes gauge",
      `container_swap_usage_bytes{${labels}} 0 1700000000500`,
      "# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds",
      "# TYPE node_cpu_usage_seconds_total counter",
      "node_cpu_usage_seconds_total 2.5 1700000000500",
      "# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes",
      "# TYPE node_memory_working_set_bytes gauge",
      "node_memory_working_set_bytes 4096 1700000000500",
      "# HELP node_swap_usage_bytes [ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
      "# TYPE node_swap_usage_bytes gauge",
      "node_swap_usage_bytes 0 1700000000500",
      "# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds",
      "# TYPE pod_cpu_usage_seconds_total counter",
      'pod_cpu_usage_seconds_total{namespace="default",pod="web"} 2.5 1700000000500',
      "# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes",
      "# TYPE pod_memory_working_set_bytes gauge",
      'pod_memory_working_set_bytes{namespace="default",pod="web"} 4096 1700000000500',
      "# HELP pod_swap_usage_bytes [ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
      "# TYPE pod_swap_usage_bytes gauge",
      'pod_swap_usage_bytes{namespace="default",pod="web"} 0 1700000000500',
      "# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
      "# TYPE resource_scrape_error gauge",
      "resource_scrape_error 0",
      "",
    ].join("\n"),
  );
});

test("without a summary the page only says that there was an error", () => {
  const page = formatResourceMetrics(undefined);
  expect(page).toContain("resource_scrape_error 1\n");
  expect(page.match(/^# TYPE/gm)).toHaveLength(1);
});
