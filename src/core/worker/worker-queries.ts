import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { WorkerFacts } from "./start-gate.ts";
import type { Finished, Terminated, Terminating, WorkerState } from "./worker-state.ts";

// What the rest of the agent may ask of one pod's worker. A pod without a worker is unknown (undefined); once
// the workers have seen every wanted pod (`podsSynced`), an unknown pod is known not to run.

/** Nothing of the pod runs any more. */
export function isPodKnownTerminated(worker: WorkerState | undefined): boolean {
  return worker !== undefined && isTerminated(worker);
}

/** A container of the pod may run now. */
export function couldHaveRunningContainers(
  worker: WorkerState | undefined,
  podsSynced: boolean,
): boolean {
  return worker === undefined ? !podsSynced : !isTerminated(worker);
}

/** Everything of the pod that must be released at once has been. */
export function shouldPodBeFinished(worker: WorkerState | undefined, podsSynced: boolean): boolean {
  return worker === undefined ? podsSynced : worker.state === "finished";
}

/** The end of the pod was asked for, whether or not its worker has noticed. */
export function isPodTerminationRequested(worker: WorkerState | undefined): boolean {
  return worker !== undefined && isEnding(worker);
}

/** No container of the pod will be started any more. */
export function shouldPodContainersBeTerminating(
  worker: WorkerState | undefined,
  podsSynced: boolean,
): boolean {
  if (worker === undefined) return podsSynced;
  switch (worker.state) {
    case "wait-to-start":
    case "syncing":
      return false;
    case "terminating":
    case "finished":
      return worker.acknowledged;
    case "terminated":
      return true;
  }
}

/** What running containers need, such as mounted volumes, may be taken away. */
export function shouldPodRuntimeBeRemoved(
  worker: WorkerState | undefined,
  podsSynced: boolean,
): boolean {
  return worker === undefined ? podsSynced : isTerminated(worker);
}

/** All that is left of the pod on disk may be removed. */
export function shouldPodContentBeRemoved(
  worker: WorkerState | undefined,
  podsSynced: boolean,
): boolean {
  if (worker === undefined) return podsSynced;
  if (!isEnding(worker)) return false;
  return worker.evicted || (worker.deleted && isTerminated(worker));
}

/** What counts of a worker when others wait to start. */
export function workerFacts(worker: WorkerState, arrival: number): WorkerFacts {
  const pod = lastPod(worker);
  return {
    state: worker.state,
    hasBegun: hasBegun(worker),
    isStatic: pod !== undefined && isStaticPod(pod),
    arrival,
  };
}

/** Whether the start gate is asked: a pod that only the runtime knows can do nothing but end. */
export function awaitsStart(worker: WorkerState): boolean {
  switch (worker.state) {
    case "wait-to-start":
      return true;
    case "terminating":
    case "terminated":
      return !worker.started && lastPod(worker) !== undefined;
    case "syncing":
    case "finished":
      return false;
  }
}

/** Whether the worker was ever allowed to act on the pod's spec, and is not done with it. */
function hasBegun(worker: WorkerState): boolean {
  switch (worker.state) {
    case "wait-to-start":
    case "finished":
      return false;
    case "syncing":
      return true;
    case "terminating":
    case "terminated":
      return worker.started;
  }
}

function isEnding(worker: WorkerState): worker is Terminating | Terminated | Finished {
  return worker.state !== "wait-to-start" && worker.state !== "syncing";
}

function isTerminated(worker: WorkerState): worker is Terminated | Finished {
  return worker.state === "terminated" || worker.state === "finished";
}

function lastPod(worker: WorkerState): Pod | undefined {
  switch (worker.state) {
    case "wait-to-start":
      return worker.pending.pod;
    case "syncing":
    case "finished":
      return worker.active?.pod;
    case "terminating":
    case "terminated":
      return (worker.active ?? worker.pending)?.pod;
  }
}
