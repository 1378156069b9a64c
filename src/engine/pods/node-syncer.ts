import { parseTime } from "../../lib/time.ts";
import type { Pod } from "../../model/pod.ts";
import { configSeenAnnotation } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { SpanAttributes, Tracer } from "../../ports/tracer.ts";
import {
  type EndPodDeps,
  syncTerminatedPod,
  syncTerminatingPod,
  syncTerminatingRuntimePod,
} from "./end-pod.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import { type SyncPodDeps, syncPod } from "./sync-pod.ts";

interface SyncerPorts {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Undefined = no traces are exported. */
  readonly tracer?: Tracer | undefined;
}

/** What the workers of this node call, with traces and the metric of a pod's first sync. */
export function createNodeSyncer(
  sync: SyncPodDeps,
  end: EndPodDeps,
  ports: SyncerPorts,
): PodSyncer {
  const { tracer } = ports;
  const traced = <T>(name: string, pod: Pod, work: () => Promise<T>): Promise<T> =>
    tracer === undefined ? work() : tracer.span(name, podAttributes(pod), work);
  return {
    syncPod: (request, signal) => {
      if (request.updateType === "create") noteFirstSync(ports, request.pod);
      return traced("syncPod", request.pod, () => syncPod(sync, request, signal));
    },
    syncTerminatingPod: (request, signal) =>
      traced("syncTerminatingPod", request.pod, () => syncTerminatingPod(end, request, signal)),
    syncTerminatingRuntimePod: (pod, signal) => syncTerminatingRuntimePod(end, pod, signal),
    syncTerminatedPod: (request, signal) =>
      traced("syncTerminatedPod", request.pod, () => syncTerminatedPod(end, request, signal)),
  };
}

/** How long a new pod waited for its worker. */
function noteFirstSync({ clock, metrics }: SyncerPorts, { metadata }: Pod): void {
  const seenMs = parseTime(metadata.annotations?.[configSeenAnnotation] ?? "");
  if (seenMs === undefined) return;
  const seconds = (clock.nowMs() - seenMs) / 1000;
  metrics.observe("kubelet_pod_worker_start_duration_seconds", seconds);
}

function podAttributes({ metadata }: Pod): SpanAttributes {
  const { uid, name, namespace } = metadata;
  return { "k8s.pod.uid": uid, "k8s.pod.name": name, "k8s.namespace.name": namespace };
}
