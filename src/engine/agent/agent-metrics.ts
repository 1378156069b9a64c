import { parseTime } from "../../lib/time.ts";
import type { MetricName } from "../../model/generated/metrics.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { findContainer, type Pod } from "../../model/pod.ts";
import { configSeenAnnotation, isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { isAboutStart, type StepReport, syncFailed } from "../execute/step-report.ts";
import { containerTypes } from "../status/container-types.ts";
import type { VolumeCounts } from "../volumes/volume-metrics.ts";

/** What is counted anew whenever somebody asks. */
export interface AgentState {
  readonly pods: readonly Pod[];
  readonly isActive: (pod: Pod) => boolean;
  readonly mirrorCount: number;
  readonly runtimePods: Iterable<ObservedPod>;
  readonly volumes: VolumeCounts;
  readonly workerState: (uid: string) => string | undefined;
}

/** Counts what the agent does, under the kubelet's names. */
export class AgentMetrics {
  readonly #metrics: Metrics;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(metrics: Metrics, clock: Pick<Clock, "nowMs">) {
    this.#metrics = metrics;
    this.#clock = clock;
    for (const label of ["", "true"]) {
      metrics.increment("kubelet_restarted_pods_total", { static: label }, 0);
    }
  }

  /** How long a new pod waited for its worker. */
  noteWorkerStart({ metadata }: Pod): void {
    const seenMs = parseTime(metadata.annotations?.[configSeenAnnotation] ?? "");
    if (seenMs === undefined) return;
    const seconds = (this.#clock.nowMs() - seenMs) / 1000;
    this.#metrics.observe("kubelet_pod_worker_start_duration_seconds", seconds);
  }

  noteRestart(pod: Pod): void {
    const labels = { static: isStaticPod(pod) ? "true" : "" };
    this.#metrics.increment("kubelet_restarted_pods_total", labels);
  }

  noteWork(operation: string, durationMs: number): void {
    this.#metrics.observe("kubelet_pod_worker_duration_seconds", durationMs / 1000, {
      operation_type: operation,
    });
  }

  noteSteps(pod: Pod, reports: readonly StepReport[]): void {
    for (const report of reports) {
      const { kind: step, target, failure } = report;
      if (step === "create-sandbox") {
        const isCreated = failure === undefined || failure.code === syncFailed;
        this.#metrics.increment("kubelet_started_pods_total");
        if (!isCreated) this.#metrics.increment("kubelet_started_pods_errors_total");
        if (pod.spec.hostUsers !== false) continue;
        this.#metrics.increment("kubelet_started_user_namespaced_pods_total");
        if (isCreated) continue;
        this.#metrics.increment("kubelet_started_user_namespaced_pods_errors_total");
      }
      // A container that waits its turn was not started at all.
      if (!isAboutStart(report) || step === "wait" || failure?.retryAtMs !== undefined) continue;
      const kind = findContainer(pod, target)?.kind ?? "regular";
      const labels = { container_type: containerTypes[kind] };
      this.#metrics.increment("kubelet_started_containers_total", labels);
      if (failure === undefined) continue;
      this.#metrics.increment("kubelet_started_containers_errors_total", {
        ...labels,
        code: failure.code,
      });
    }
  }

  noteRejection(reason: string): void {
    this.#metrics.increment("kubelet_admission_rejections_total", { reason });
  }

  noteOrphan(): void {
    this.#metrics.increment("kubelet_orphaned_runtime_pods_total");
  }

  notePreemption(): void {
    this.#metrics.increment("kubelet_preemptions", { preemption_signal: "" });
  }

  /** Sets the gauges of what is there now. */
  collect({ pods, isActive, mirrorCount, runtimePods, volumes, workerState }: AgentState): void {
    for (const [name, list] of [
      ["kubelet_desired_pods", pods],
      ["kubelet_active_pods", pods.filter(isActive)],
    ] as const) {
      const statics = list.filter(isStaticPod).length;
      this.#metrics.set(name, list.length - statics, { static: "" });
      this.#metrics.set(name, statics, { static: "true" });
    }
    this.#metrics.set("kubelet_mirror_pods", mirrorCount);
    this.#countBy("kubelet_working_pods", pods, (pod) => ({
      lifecycle: lifecycleOf(workerState(pod.metadata.uid)),
      config: "desired",
      static: isStaticPod(pod) ? "true" : "",
    }));
    const observed = [...runtimePods];
    this.#countBy(
      "kubelet_running_containers",
      observed.flatMap(({ containers }) => containers),
      ({ state }) => ({ container_state: state }),
    );
    const running = observed.filter(({ sandboxes }) => sandboxes[0]?.state === "ready");
    this.#metrics.set("kubelet_running_pods", running.length);
    this.#metrics.reset("volume_manager_total_volumes");
    for (const [state, byPlugin] of Object.entries(volumes)) {
      for (const [plugin, count] of byPlugin) {
        const labels = { plugin_name: plugin, state };
        this.#metrics.set("volume_manager_total_volumes", count, labels);
      }
    }
    const ephemeral = pods.map(({ spec }) => spec.ephemeralContainers?.length ?? 0);
    const managed = ephemeral.reduce((sum, count) => sum + count, 0);
    this.#metrics.set("kubelet_managed_ephemeral_containers", managed);
  }

  #countBy<T>(
    name: MetricName,
    items: readonly T[],
    labelsOf: (item: T) => Readonly<Record<string, string>>,
  ): void {
    this.#metrics.reset(name);
    for (const item of items) this.#metrics.increment(name, labelsOf(item));
  }
}

function lifecycleOf(state: string | undefined): string {
  return state === "terminating" || state === "terminated" ? state : "sync";
}
