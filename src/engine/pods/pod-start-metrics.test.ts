import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { PodStartMetrics } from "./pod-start-metrics.ts";
import { PodTable } from "./pod-table.ts";

const names = [
  "kubelet_pod_start_total_duration_seconds",
  "kubelet_pod_start_sli_duration_seconds",
  "kubelet_first_network_pod_start_sli_duration_seconds",
];

function world() {
  const time = { ms: 0 };
  const registry = new MetricsRegistry(metricDefinitions);
  const starts = new PodStartMetrics(new PodTable(), registry, { nowMs: () => time.ms });
  /** The sums of the total and of the promised time, and the first pod's. */
  const seconds = (): (number | undefined)[] => {
    const lines = registry.text(() => true).split("\n");
    return names.map((name) => {
      const line = lines.find((each) => new RegExp(`^${name}(_sum)? `).test(each));
      return line === undefined ? undefined : Number(line.split(" ")[1]);
    });
  };
  return { time, starts, seconds };
}

function apiPod(spec: Partial<Pod["spec"]> = {}): Pod {
  const pod = testPod({ containers: [{ name: "web" }], ...spec });
  const annotations = { "kubernetes.io/config.source": "api" };
  const creationTimestamp = "1970-01-01T00:00:00Z";
  return { ...pod, metadata: { ...pod.metadata, annotations, creationTimestamp } };
}

test("pulls, counted once where they overlap, and init containers do not count for the start of a pod", () => {
  const { time, starts, seconds } = world();
  const sidecar = { name: "proxy", restartPolicy: "Always" };
  const pod = apiPod({ initContainers: [{ name: "prepare" }, sidecar] });
  starts.noteNewPod(pod);
  time.ms = 10_000;
  starts.notePull(podUid("uid-1"), 8_000);
  time.ms = 12_000;
  starts.notePull(podUid("uid-1"), 5_000);
  time.ms = 20_000;
  const ended = (name: string, finishedAt: string) => ({
    name,
    image: "",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode: 0, startedAt: "1970-01-01T00:00:12Z", finishedAt } },
  });
  starts.noteStatus(pod, {
    phase: "Running",
    initContainerStatuses: [
      ended("prepare", "1970-01-01T00:00:15Z"),
      ended("proxy", "1970-01-01T00:00:19Z"),
    ],
  });
  expect(seconds()).toEqual([20, 7, 7]);
  starts.noteNewPod(pod);
  time.ms = 30_000;
  starts.noteStatus(pod, { phase: "Running" });
  expect(seconds(), "only the first pod says how long the network's first took").toEqual([
    50, 37, 7,
  ]);
});

test("nothing is promised of pods with lasting volumes, and pods of the host's network say nothing of networks", () => {
  const { time, starts, seconds } = world();
  const lasting = apiPod({ volumes: [{ name: "v", hostPath: { path: "/srv" } }] });
  starts.noteNewPod(lasting);
  time.ms = 1000;
  starts.noteStatus(lasting, { phase: "Running" });
  expect(seconds()).toEqual([1, 0, 0]);
  const host = apiPod({ hostNetwork: true });
  starts.noteNewPod(host);
  starts.noteStatus(host, { phase: "Running" });
  expect(seconds()).toEqual([2, 1, 0]);
});
