import type { PodUid } from "../../model/ids.ts";
import type { ObservedContainerState } from "../../model/observed.ts";

/** As much of a container or sandbox as a listing has. */
export interface ListedContainer {
  readonly id: string;
  readonly state: ObservedContainerState | "ready" | "notReady";
}

/** One pod of a listing; an ObservedPod is one, too. */
export interface ListedPod {
  readonly uid: PodUid;
  readonly containers: readonly ListedContainer[];
  readonly sandboxes: readonly ListedContainer[];
}

export interface LifecycleEvent {
  /** "changed" = the state is unclear now: worth reading the pod, but nothing to act on. */
  readonly kind: "started" | "died" | "removed" | "changed";
  readonly containerId: string;
}

export interface ListingDifference {
  /** What the next listing must be compared with, by UID. */
  readonly pods: ReadonlyMap<PodUid, ListedPod>;
  /** By UID; only pods of which something changed. */
  readonly events: ReadonlyMap<PodUid, readonly LifecycleEvent[]>;
}

/** What happened to the pods' containers and sandboxes between the last listing and this one. */
export function diffListings(
  before: ReadonlyMap<PodUid, ListedPod>,
  listing: readonly ListedPod[],
): ListingDifference {
  const pods = new Map(before);
  const events = new Map<PodUid, readonly LifecycleEvent[]>();
  const current = new Map(listing.map((pod) => [pod.uid, pod]));
  for (const uid of new Set([...before.keys(), ...current.keys()])) {
    const pod = current.get(uid);
    const changes = lifecycleEvents(before.get(uid), pod);
    if (changes.length === 0) continue;
    events.set(uid, changes);
    if (pod === undefined) pods.delete(uid);
    else pods.set(uid, pod);
  }
  return { pods, events };
}

/** What happened to one pod's containers and sandboxes; a pod that is not listed has none. */
export function lifecycleEvents(
  before: ListedPod | undefined,
  after: ListedPod | undefined,
): LifecycleEvent[] {
  const statesBefore = statesOf(before);
  const statesAfter = statesOf(after);
  const ids = new Set([...statesBefore.keys(), ...statesAfter.keys()]);
  return [...ids].flatMap((containerId) =>
    eventKinds(statesBefore.get(containerId), statesAfter.get(containerId)).map((kind) => ({
      kind,
      containerId,
    })),
  );
}

type LifecycleState = "running" | "exited" | "unknown";

function statesOf(pod: ListedPod | undefined): Map<string, LifecycleState> {
  const states = new Map<string, LifecycleState>();
  for (const { id, state } of [...(pod?.containers ?? []), ...(pod?.sandboxes ?? [])]) {
    if (!states.has(id)) states.set(id, lifecycleState(state));
  }
  return states;
}

function lifecycleState(state: ListedContainer["state"]): LifecycleState {
  switch (state) {
    case "running":
    case "ready":
      return "running";
    case "exited":
    case "notReady":
      return "exited";
    case "created":
    case "unknown":
      return "unknown";
  }
}

function eventKinds(
  before: LifecycleState | undefined,
  after: LifecycleState | undefined,
): LifecycleEvent["kind"][] {
  if (before === after) return [];
  switch (after) {
    case "running":
      return ["started"];
    case "exited":
      return ["died"];
    case "unknown":
      return ["changed"];
    case undefined:
      return before === "exited" ? ["removed"] : ["died", "removed"];
  }
}
