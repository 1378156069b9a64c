import { parseTime } from "../../lib/time.ts";
import type { Pod } from "../../model/pod.ts";
import { configSeenAnnotation } from "../../model/pod-source.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { SpanAttributes } from "../../ports/tracer.ts";
import type { WorkQueue } from "../loop/work-queue.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import {
  type EndPodDeps,
  syncTerminatedPod,
  syncTerminatingPod,
  syncTerminatingRuntimePod,
} from "../pods/end-pod.ts";
import type { PodTable } from "../pods/pod-table.ts";
import { PodWorkers } from "../pods/pod-workers.ts";
import { type SyncPodDeps, syncPod } from "../pods/sync-pod.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import type { AgentPorts } from "./agent-ports.ts";
import type { Faults } from "./faults.ts";
import type { Wakeups } from "./wakeups.ts";

export interface WorkerParts {
  readonly ports: Pick<AgentPorts, "clock" | "log" | "metrics" | "tracer">;
  readonly sync: SyncPodDeps;
  readonly end: EndPodDeps;
  readonly observed: ObservedPods;
  readonly events: PodEvents;
  readonly faults: Faults;
  readonly queue: WorkQueue;
  readonly table: PodTable;
  readonly allocations: PodAllocations;
  readonly changes: PodChanges;
  readonly wakeups: Wakeups;
}

/** The pod workers on the recipes of this node. */
export function createWorkers(parts: WorkerParts): PodWorkers {
  const { ports, sync, end, table, observed, events, faults } = parts;
  const { queue, allocations, changes, wakeups } = parts;
  const { tracer } = ports;
  const traced = <T>(name: string, pod: Pod, work: () => Promise<T>): Promise<T> =>
    tracer === undefined ? work() : tracer.span(name, podAttributes(pod), work);
  return new PodWorkers({
    syncer: {
      syncPod: (request, signal) => {
        if (request.updateType === "create") noteFirstSync(ports, request.pod);
        return traced("syncPod", request.pod, () => syncPod(sync, request, signal));
      },
      syncTerminatingPod: (request, signal) =>
        traced("syncTerminatingPod", request.pod, () => syncTerminatingPod(end, request, signal)),
      syncTerminatingRuntimePod: (pod, signal) => syncTerminatingRuntimePod(end, pod, signal),
      syncTerminatedPod: (request, signal) =>
        traced("syncTerminatedPod", request.pod, () => syncTerminatedPod(end, request, signal)),
    },
    table,
    observed,
    queue,
    ports,
    events,
    faults,
    allocations,
    changes,
    wakeups,
  });
}

/** How long a new pod waited for its worker. */
function noteFirstSync({ clock, metrics }: WorkerParts["ports"], { metadata }: Pod): void {
  const seenMs = parseTime(metadata.annotations?.[configSeenAnnotation] ?? "");
  if (seenMs === undefined) return;
  const seconds = (clock.nowMs() - seenMs) / 1000;
  metrics.observe("kubelet_pod_worker_start_duration_seconds", seconds);
}

function podAttributes({ metadata }: Pod): SpanAttributes {
  const { uid, name, namespace } = metadata;
  return { "k8s.pod.uid": uid, "k8s.pod.name": name, "k8s.namespace.name": namespace };
}
