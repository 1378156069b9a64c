import { podQosClass } from "../../core/resource/qos.ts";
import { formatTime } from "../../lib/time.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { PodStatuses } from "./pod-statuses.ts";

export interface RejectPodDeps {
  readonly statuses: Pick<PodStatuses, "set">;
  readonly events: PodEvents;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** The node does not run the pod: it has failed. */
export function rejectPod(
  { statuses, events, metrics, clock, log }: RejectPodDeps,
  pod: Pod,
  { reason, message }: { readonly reason: string; readonly message: string },
): void {
  log.warn("refused a pod", { pod: podKey(pod), reason, message });
  metrics.increment("kubelet_admission_rejections_total", { reason });
  events.record(pod, { type: "Warning", reason, message });
  statuses.set(pod, {
    phase: "Failed",
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: formatTime(clock.nowMs()),
    qosClass: qosClassOf(pod),
  });
}

/** A pod may be refused because its resources make no sense. */
function qosClassOf(pod: Pod): string | undefined {
  try {
    return podQosClass(pod);
  } catch {
    return undefined;
  }
}
