import { isRuntimeStopped } from "../../core/worker/runtime-stopped.ts";
import { type PodFacts, type WaitReason, whyWait } from "../../core/worker/start-gate.ts";
import { workerFacts } from "../../core/worker/worker-queries.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ManagedPod, PodTable } from "./pod-table.ts";

/** Asks `whyWait` with what the table has of the pod and of others of its name. */
export function askStartGate(
  table: PodTable,
  uid: PodUid,
  fullName: string,
): WaitReason | undefined {
  return whyWait(factsOf(table.get(uid) ?? { uid }, fullName), podsNamed(table, fullName));
}

function* podsNamed(table: PodTable, fullName: string): Iterable<PodFacts> {
  for (const pod of table.all()) {
    if (fullNameOf(pod) === fullName) yield factsOf(pod, fullName);
  }
}

function factsOf(pod: ManagedPod, fullName: string): PodFacts {
  const { uid, worker, admission, devices, removal } = pod;
  return {
    uid,
    fullName,
    worker: worker === undefined ? undefined : workerFacts(worker.state, worker.arrival),
    runtime: inRuntime(pod),
    isBeingRemoved: removal?.state === "running",
    roomFrom: admission?.roomFrom ?? [],
    awaitsDevices: devices?.isAwaited === true,
  };
}

/** Undefined for a pod that neither has a worker nor is in the runtime: it holds back no other pod. */
function fullNameOf({ worker, observed }: ManagedPod): string | undefined {
  if (worker !== undefined) return worker.state.fullName;
  if (observed?.unread !== undefined) {
    const [namespace, name] = observed.unread.key.split("/");
    return `${name}_${namespace}`;
  }
  return observed?.state && `${observed.state.name}_${observed.state.namespace}`;
}

/** Whether anything of the pod runs, as far as the runtime reported it. */
export function inRuntime({ observed }: ManagedPod): PodFacts["runtime"] {
  if (observed?.unread !== undefined) return "unread";
  if (observed?.state === undefined || isRuntimeStopped(observed.state)) return "nothing-runs";
  return "running";
}
