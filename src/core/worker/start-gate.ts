import type { PodUid } from "../../model/ids.ts";
import type { WorkerState } from "./worker-state.ts";

/** What counts of one pod when it is asked whether a pod may start. */
export interface PodFacts {
  readonly uid: PodUid;
  readonly fullName: string;
  /** Absent for a pod that only the runtime knows. */
  readonly worker?: WorkerFacts | undefined;
  /** "unread": the runtime lists it and cannot be asked what runs of it. */
  readonly runtime: "nothing-runs" | "running" | "unread";
  /** What its former life left is being removed. */
  readonly isBeingRemoved: boolean;
  /** The pods that end to make room for it, as namespace/name. */
  readonly roomFrom: readonly string[];
  /** CPUs, memory or devices are being handed out to it. */
  readonly awaitsDevices: boolean;
}

export interface WorkerFacts {
  readonly state: WorkerState["state"];
  /** Whether its worker was ever allowed to act on its spec. */
  readonly hasBegun: boolean;
  readonly isStatic: boolean;
  /** Grows from pod to pod in the order in which they came. */
  readonly arrival: number;
}

/** Why a pod may not start yet. UIDs are those of other pods of its name. */
export type WaitReason =
  | { readonly kind: "removal" }
  | { readonly kind: "room"; readonly pods: readonly string[] }
  | { readonly kind: "devices" }
  | { readonly kind: "name"; readonly uid: PodUid; readonly other: "runs" | "ends" | "unread" }
  | { readonly kind: "turn"; readonly uid: PodUid };

/**
 * The one answer to the question whether a pod may start now: undefined = it may. A pod that must end waits for
 * nothing but the removal of what its former life left.
 */
export function whyWait(pod: PodFacts, others: Iterable<PodFacts>): WaitReason | undefined {
  if (pod.isBeingRemoved) return { kind: "removal" };
  if (pod.worker?.state !== "wait-to-start") return undefined;
  if (pod.roomFrom.length > 0) return { kind: "room", pods: pod.roomFrom };
  if (pod.awaitsDevices) return { kind: "devices" };
  let earlier: PodFacts | undefined;
  for (const other of others) {
    if (other.uid === pod.uid || other.fullName !== pod.fullName) continue;
    const kept = howNameIsKept(pod.worker, other);
    if (kept !== undefined) return { kind: "name", uid: other.uid, other: kept };
    if (cameBefore(other.worker, pod.worker)) earlier ??= other;
  }
  return earlier === undefined ? undefined : { kind: "turn", uid: earlier.uid };
}

function howNameIsKept(
  waiting: WorkerFacts,
  { worker, runtime }: PodFacts,
): "runs" | "ends" | "unread" | undefined {
  // What it starts may not be seen in the runtime yet.
  if (worker?.state === "syncing") return "runs";
  if (worker?.state === "terminating") return "ends";
  // Static pods of one name share paths and mirror pod: also the clean-up has to be done.
  const areStatic = waiting.isStatic && worker?.isStatic === true;
  if (areStatic && worker.state === "terminated" && worker.hasBegun) return "ends";
  if (runtime === "nothing-runs") return undefined;
  return runtime === "running" ? "runs" : "unread";
}

function cameBefore(other: WorkerFacts | undefined, pod: WorkerFacts): boolean {
  if (other?.state !== "wait-to-start" || !other.isStatic || !pod.isStatic) return false;
  return other.arrival < pod.arrival;
}

export function isSameReason(a: WaitReason | undefined, b: WaitReason | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && waitText(a) === waitText(b));
}

/** What the pod waits for, as `berth why` and the message of a Pending pod have it. */
export function waitText(reason: WaitReason): string {
  switch (reason.kind) {
    case "removal":
      return "the removal of what the pod left when it last ended";
    case "room":
      return `pods that end to make room: ${reason.pods.join(", ")}`;
    case "devices":
      return "the CPUs, memory and devices that it gets for itself";
    case "name":
      return `the end of another pod of the same name (UID ${reason.uid}), ${otherTexts[reason.other]}`;
    case "turn":
      return `a static pod of the same name that came before (UID ${reason.uid})`;
  }
}

const otherTexts = {
  runs: "which runs",
  ends: "which is ending",
  unread: "which the runtime lists but cannot describe",
} as const;
