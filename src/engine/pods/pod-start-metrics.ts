import { parseTime } from "../../lib/time.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { configSeenAnnotation, isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodStart, PodTable, SliceWriter } from "./pod-table.ts";

/** Measures how long pods take until they run; with what the pod itself takes part in, and without. */
export class PodStartMetrics {
  readonly #metrics: Metrics;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #starting: SliceWriter<"start">;
  #hasSeenNetworkPod = false;

  constructor(table: PodTable, metrics: Metrics, clock: Pick<Clock, "nowMs">) {
    this.#starting = table.writer("start");
    this.#metrics = metrics;
    this.#clock = clock;
  }

  noteNewPod(pod: Pod): void {
    const { uid, annotations } = pod.metadata;
    this.#starting.set(uid, undefined);
    if (pod.status?.phase !== undefined && pod.status.phase !== "Pending") return;
    const seenMs = parseTime(annotations?.[configSeenAnnotation] ?? "");
    this.#starting.set(uid, { seenMs: seenMs ?? this.#clock.nowMs(), pulls: [] });
    this.#metrics.observe("kubelet_containers_per_pod_count", pod.spec.containers.length);
  }

  /** A pull for the pod has just succeeded. */
  notePull(uid: PodUid, durationMs: number): void {
    const untilMs = this.#clock.nowMs();
    const starting = this.#starting.get(uid);
    if (starting === undefined) return;
    const pulls = [...starting.pulls, { fromMs: untilMs - durationMs, untilMs }];
    this.#starting.set(uid, { ...starting, pulls });
  }

  noteStatus(pod: Pod, status: PodStatus): void {
    const { uid, creationTimestamp } = pod.metadata;
    const starting = this.#starting.get(uid);
    if (starting === undefined || status.phase === "Pending") return;
    this.#starting.set(uid, undefined);
    if (status.phase !== "Running") return;
    const nowMs = this.#clock.nowMs();
    const { seenMs, pulls } = starting;
    this.#metrics.observe("kubelet_pod_start_duration_seconds", (nowMs - seenMs) / 1000);
    if (isStaticPod(pod)) return;
    const totalMs = nowMs - (parseTime(creationTimestamp ?? "") ?? seenMs);
    this.#metrics.observe("kubelet_pod_start_total_duration_seconds", totalMs / 1000);
    if (hasLastingVolume(pod)) return;
    const seconds = (totalMs - pullingMs(pulls) - initMs(pod, status)) / 1000;
    this.#metrics.observe("kubelet_pod_start_sli_duration_seconds", seconds);
    if (pod.spec.hostNetwork === true || this.#hasSeenNetworkPod) return;
    this.#hasSeenNetworkPod = true;
    this.#metrics.set("kubelet_first_network_pod_start_sli_duration_seconds", seconds);
  }
}

/** Pods whose start depends on storage that others provide are left out of the promise about starts. */
function hasLastingVolume({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    ({ secret, configMap, downwardAPI, emptyDir, projected }) =>
      (secret ?? configMap ?? downwardAPI ?? emptyDir ?? projected) === undefined,
  );
}

/** Pulls at the same time count once. */
function pullingMs(pulls: PodStart["pulls"]): number {
  let total = 0;
  let countedUntilMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, untilMs } of pulls.toSorted((a, b) => a.fromMs - b.fromMs)) {
    total += Math.max(0, untilMs - Math.max(fromMs, countedUntilMs));
    countedUntilMs = Math.max(countedUntilMs, untilMs);
  }
  return total;
}

function initMs({ spec }: Pod, status: PodStatus): number {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  let total = 0;
  for (const { name, state } of status.initContainerStatuses ?? []) {
    const startedMs = parseTime(state?.terminated?.startedAt ?? "");
    const finishedMs = parseTime(state?.terminated?.finishedAt ?? "");
    if (startedMs === undefined || finishedMs === undefined || sidecars.has(name)) continue;
    total += Math.max(0, finishedMs - startedMs);
  }
  return total;
}
