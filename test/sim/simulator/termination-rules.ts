import { ContainerState } from "../../../src/model/generated/cri.ts";
import { containerNameLabel } from "../../../src/model/labels.ts";
import { findContainer, isSidecar, type Pod } from "../../../src/model/pod.ts";
import { type Invariants, label } from "./invariants.ts";
import type { ObservedCall } from "./observed-calls.ts";
import { preStopMark } from "./random-pod.ts";
import { Violation } from "./violation.ts";

/** What a runtime may take to carry out calls that go well, several in a row. */
const latencyMs = 3_000;
/** What a container gets after its hook at least, whatever is left of the grace period. */
const shortestGraceSeconds = 2;

interface World {
  readonly nowMs: () => number;
  /** Whether nothing has gone wrong in the runtime since then. */
  readonly isFaultlessSince: (sinceMs: number) => boolean;
}

/**
 * A container's hook runs before it is stopped, and both within the grace period; the sidecars of a pod end last,
 * in reverse.
 */
export class TerminationRules {
  readonly #invariants: Invariants;
  readonly #world: World;
  readonly #hooked = new Set<string>();
  /** When the end of pods was requested, by UID. */
  readonly #deletedMs = new Map<string, number>();
  /** When containers were stopped, by id, by the agent that lives. */
  readonly #endingSinceMs = new Map<string, number>();

  constructor(invariants: Invariants, world: World) {
    this.#invariants = invariants;
    this.#world = world;
  }

  /** An agent is about to make that call. */
  noteCall({ method, args }: ObservedCall): void {
    const [id, second] = args;
    if (typeof id !== "string") return;
    if (method === "execSync" && Array.isArray(second) && second.at(-1) === preStopMark) {
      this.#hooked.add(id);
      this.#begin(id);
    }
    if (method !== "stopContainer") return;
    this.#begin(id);
    // Where less was left, the hook may have had no time.
    if (typeof second !== "number" || second <= shortestGraceSeconds) return;
    this.#checkHook(id);
    this.#checkTurn(id);
  }

  /** A container ended. */
  noteEnd(id: string): void {
    const sinceMs = this.#endingSinceMs.get(id);
    this.#endingSinceMs.delete(id);
    const container = this.#invariants.find(id);
    const pod = container && this.#invariants.podOf(container);
    if (sinceMs === undefined || pod === undefined) return;
    if (!this.#world.isFaultlessSince(sinceMs)) return;
    const graceSeconds = Math.max(
      shortestGraceSeconds,
      pod.spec.terminationGracePeriodSeconds ?? 30,
    );
    const tookMs = this.#world.nowMs() - sinceMs;
    // The hook may take the whole grace period; what it leaves is at least the shortest.
    const limitMs = (graceSeconds + shortestGraceSeconds) * 1000 + latencyMs;
    if (tookMs <= limitMs) return;
    throw new Violation(`${pod.metadata.name} took ${tookMs} ms to end, not ${graceSeconds} s`);
  }

  /** The pod is new, or came back under its old UID. */
  noteBeginning(uid: string): void {
    this.#deletedMs.delete(uid);
  }

  /** The pod must end, which starts a grace period of its own. */
  noteDeletion(uid: string): void {
    if (this.#deletedMs.has(uid)) return;
    this.#deletedMs.set(uid, this.#world.nowMs());
    for (const { place } of this.#invariants.runningOf(uid)) this.#endingSinceMs.delete(place.id);
  }

  /** What it began goes on without anybody who keeps the time. */
  noteAgentDeath(): void {
    this.#endingSinceMs.clear();
  }

  #begin(id: string): void {
    if (!this.#endingSinceMs.has(id)) this.#endingSinceMs.set(id, this.#world.nowMs());
  }

  #checkHook(id: string): void {
    const container = this.#invariants.find(id);
    if (container?.state !== ContainerState.CONTAINER_RUNNING) return;
    const pod = this.#invariants.podOf(container);
    const name = label(container, containerNameLabel);
    const found = pod && findContainer(pod, name)?.container;
    if (found?.lifecycle?.preStop === undefined || this.#hooked.has(id)) return;
    throw new Violation(`${name} of ${pod?.metadata.name} was stopped without its hook`);
  }

  /** Of a pod that ends, sidecars are stopped last, the last of them first; unless the time is over. */
  #checkTurn(id: string): void {
    const container = this.#invariants.find(id);
    const pod = container && this.#invariants.podOf(container);
    const deletedMs = this.#deletedMs.get(pod?.metadata.uid ?? "");
    if (pod === undefined || container === undefined || deletedMs === undefined) return;
    if (!this.#world.isFaultlessSince(deletedMs)) return;
    const name = label(container, containerNameLabel);
    const others = this.#invariants.namesOf(pod.metadata.uid);
    const early = others.find((other) => endsBefore(pod, other, name));
    if (early === undefined) return;
    throw new Violation(`${name} of ${pod.metadata.name} was stopped before ${early} had ended`);
  }
}

/** Whether the first of two containers of a pod ends before the other, which is a sidecar. */
function endsBefore({ spec }: Pod, first: string, second: string): boolean {
  const sidecars = (spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const own = sidecars.indexOf(second);
  if (own === -1) return false;
  const isRegular = spec.containers.some(({ name }) => name === first);
  return isRegular || sidecars.indexOf(first) > own;
}
