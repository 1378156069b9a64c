import { findContainer, type Pod } from "../../model/pod.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { containerTypes } from "../status/container-types.ts";
import { isAboutStart, type StepReport, syncFailed } from "./step-report.ts";

/** Counts what a plan that was carried out has started. */
export function countSteps(
  metrics: Pick<Metrics, "increment">,
  pod: Pod,
  reports: readonly StepReport[],
): void {
  for (const report of reports) {
    const { kind: step, target, failure } = report;
    if (step === "create-sandbox") {
      const isCreated = failure === undefined || failure.code === syncFailed;
      metrics.increment("kubelet_started_pods_total");
      if (!isCreated) metrics.increment("kubelet_started_pods_errors_total");
      if (pod.spec.hostUsers !== false) continue;
      metrics.increment("kubelet_started_user_namespaced_pods_total");
      if (isCreated) continue;
      metrics.increment("kubelet_started_user_namespaced_pods_errors_total");
    }
    // A container that waits its turn was not started at all.
    if (!isAboutStart(report) || step === "wait" || failure?.retryAtMs !== undefined) continue;
    const kind = findContainer(pod, target)?.kind ?? "regular";
    const labels = { container_type: containerTypes[kind] };
    metrics.increment("kubelet_started_containers_total", labels);
    if (failure === undefined) continue;
    metrics.increment("kubelet_started_containers_errors_total", {
      ...labels,
      code: failure.code,
    });
  }
}
