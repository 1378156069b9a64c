import { parseTime } from "../../lib/time.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { configSeenAnnotation, isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";

/** A pod that has not run yet. */
interface StartingPod {
  readonly seenMs: number;
  /** When images were pulled for it, in the order in which that ended. */
  readonly pulls: { readonly fromMs: number; readonly untilMs: number }[];
}

/** Measures how long pods take until they run; with what the pod itself takes part in, and without. */
export class PodStartMetrics {
  readonly #metrics: Metrics;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #starting = new Map<string, StartingPod>();
  #hasSeenNetworkPod = false;

  constructor(metrics: Metrics, clock: Pick<Clock, "nowMs">) {
    this.#metrics = metrics;
    this.#clock = clock;
  }

  noteNewPod(pod: Pod): void {
    const seenMs = parseTime(pod.metadata.annotations?.[configSeenAnnotation] ?? "");
    if (pod.status?.phase !== undefined && pod.status.phase !== "Pending") return;
    this.#starting.set(pod.metadata.uid, { seenMs: seenMs ?? this.#clock.nowMs(), pulls: [] });
    this.#metrics.observe("kubelet_containers_per_pod_count", pod.spec.containers.length);
  }

  /** A pull for the pod has just succeeded. */
  notePull(uid: string, durationMs: number): void {
    const untilMs = this.#clock.nowMs();
    this.#starting.get(uid)?.pulls.push({ fromMs: untilMs - durationMs, untilMs });
  }

  noteStatus(pod: Pod, status: PodStatus): void {
    const { uid, creationTimestamp } = pod.metadata;
    const starting = this.#starting.get(uid);
    if (starting === undefined || status.phase === "Pending") return;
    this.#starting.delete(uid);
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

  forget(uid: string): void {
    this.#starting.delete(uid);
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
function pullingMs(pulls: StartingPod["pulls"]): number {
  let total = 0;
  let countedUntilMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, untilMs } of pulls.toSorted((a, b) => a.fromMs - b.fromMs)) {
    total += Math.max(0, untilMs - Math.max(fromMs, countedUntilMs));
    countedUntilMs = Math.max(countedUntilMs, untilMs);
  }
  return total;
}

function initMs({ spec }: Pod, status: PodStatus): number {
  const sidecars = new Set(
    (spec.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ name }) => name),
  );
  let total = 0;
  for (const { name, state } of status.initContainerStatuses ?? []) {
    const startedMs = parseTime(state?.terminated?.startedAt ?? "");
    const finishedMs = parseTime(state?.terminated?.finishedAt ?? "");
    if (startedMs === undefined || finishedMs === undefined || sidecars.has(name)) continue;
    total += Math.max(0, finishedMs - startedMs);
  }
  return total;
}
