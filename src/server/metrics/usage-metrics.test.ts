import { expect, test } from "vitest";
import type { PodStats } from "../../model/stats-summary.ts";
import { formatUsageMetrics } from "./usage-metrics.ts";

const pod: PodStats = {
  podRef: { name: "web", namespace: "ns", uid: "u1" },
  startTimeMs: 1,
  containers: [
    { name: "main", startTimeMs: 1, logs: { timeMs: 1, usedBytes: 4096 } },
    { name: "silent", startTimeMs: 1 },
  ],
  volumeStats: [
    { name: "data", timeMs: 1, usedBytes: 10, pvcRef: { name: "claim", namespace: "ns" } },
    { name: "scratch", timeMs: 1, usedBytes: 99 },
  ],
};
const node = { nodeName: "node", startTimeMs: 1 };

test("logs are shown by container, and a claim that two pods share once", () => {
  const other = { ...pod, podRef: { name: "other", namespace: "ns", uid: "u2" } };
  const page = formatUsageMetrics({ node, pods: [pod, other] });
  expect(page).toContain(
    'kubelet_container_log_filesystem_used_bytes{container="main",namespace="ns",pod="web",uid="u1"} 4096\n',
  );
  expect(page.match(/^kubelet_volume_stats_used_bytes\{/gm)).toEqual([
    "kubelet_volume_stats_used_bytes{",
  ]);
  expect(page).not.toContain("99");
});

test("without pods there is nothing to show", () => {
  expect(formatUsageMetrics({ node, pods: [] })).toBe("");
});
