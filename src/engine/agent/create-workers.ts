import type { Pod } from "../../model/pod.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { SpanAttributes } from "../../ports/tracer.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import {
  syncTerminatedPod,
  syncTerminatingPod,
  syncTerminatingRuntimePod,
} from "../pods/end-pod.ts";
import { PodWorkers } from "../pods/pod-workers.ts";
import { syncPod } from "../pods/sync-pod.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";
import type { Faults } from "./faults.ts";
import type { NodeDeps } from "./node-deps.ts";

const defaultResyncMs = 60_000;
const failureBackoffMs = 10_000;

export interface WorkerParts {
  readonly ports: Pick<AgentPorts, "clock" | "random" | "log" | "tracer">;
  readonly settings: Pick<AgentSettings, "resyncIntervalMs">;
  /** What the recipes of a pod work with. */
  readonly deps: NodeDeps;
  readonly observed: ObservedPods;
  readonly events: PodEvents;
  readonly faults: Faults;
  /** That pod wants a look after so long. */
  readonly enqueue: (uid: string, delayMs: number) => void;
  /** The pod with the resources that it was given. */
  readonly allocatedPod: (pod: Pod) => Pod;
  /** A pod's worker turns to it for the first time. */
  readonly onFirstSync: (pod: Pod) => void;
  readonly onWorked: (operation: string, durationMs: number) => void;
  readonly onFinished: () => void;
}

/** The pod workers on the recipes of this node. */
export function createWorkers(parts: WorkerParts): PodWorkers {
  const { ports, settings, deps, observed, events, faults } = parts;
  const { enqueue, allocatedPod, onFirstSync, onWorked, onFinished } = parts;
  const { clock, random, log, tracer } = ports;
  const traced = <T>(name: string, pod: Pod, work: () => Promise<T>): Promise<T> =>
    tracer === undefined ? work() : tracer.span(name, podAttributes(pod), work);
  return new PodWorkers({
    syncer: {
      syncPod: (request, signal) => {
        if (request.updateType === "create") onFirstSync(request.pod);
        return traced("syncPod", request.pod, () => syncPod(deps, request, signal));
      },
      syncTerminatingPod: (request, signal) =>
        traced("syncTerminatingPod", request.pod, () => syncTerminatingPod(deps, request, signal)),
      syncTerminatingRuntimePod: (pod, signal) => syncTerminatingRuntimePod(deps, pod, signal),
      syncTerminatedPod: (request, signal) =>
        traced("syncTerminatedPod", request.pod, () => syncTerminatedPod(deps, request, signal)),
    },
    observed,
    queue: { enqueue },
    clock,
    random,
    settings: {
      resyncIntervalMs: settings.resyncIntervalMs ?? defaultResyncMs,
      backoffMs: failureBackoffMs,
    },
    events,
    log,
    faults,
    allocatedPod,
    onWorked,
    onFinished,
  });
}

function podAttributes({ metadata }: Pod): SpanAttributes {
  const { uid, name, namespace } = metadata;
  return { "k8s.pod.uid": uid, "k8s.pod.name": name, "k8s.namespace.name": namespace };
}
