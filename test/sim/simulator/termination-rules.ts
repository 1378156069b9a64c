import { ContainerState } from "../../../src/model/generated/cri.ts";
import { containerNameLabel } from "../../../src/model/labels.ts";
import { findContainer } from "../../../src/model/pod.ts";
import type { Invariants } from "./invariants.ts";
import { label } from "./invariants.ts";
import type { ObservedCall } from "./observed-calls.ts";
import { preStopMark } from "./random-pod.ts";
import { Violation } from "./violation.ts";

/** What a runtime may take to carry out calls that go well, several in a row. */
const latencyMs = 3_000;
/** A container gets so long after its hook, whatever is left of the grace period. */
const shortestGraceSeconds = 2;

interface Ending {
  readonly sinceMs: number;
  readonly life: number;
}

/** A container's hook runs before it is told to end, and both within the grace period. */
export class TerminationRules {
  readonly #invariants: Invariants;
  readonly #nowMs: () => number;
  readonly #hooked = new Set<string>();
  readonly #deleted = new Set<string>();
  readonly #endings = new Map<string, Ending>();

  constructor(invariants: Invariants, nowMs: () => number) {
    this.#invariants = invariants;
    this.#nowMs = nowMs;
  }

  /** An agent is about to make that call. */
  noteCall({ method, args }: ObservedCall, life: number): void {
    const [id, second] = args;
    if (typeof id !== "string") return;
    if (method === "execSync" && Array.isArray(second) && second.at(-1) === preStopMark) {
      this.#hooked.add(id);
      this.#begin(id, life);
    }
    if (method !== "stopContainer") return;
    this.#begin(id, life);
    // Where less was left, the hook may have had no time.
    if (typeof second === "number" && second > shortestGraceSeconds) this.#checkHook(id);
  }

  /** A container ended. `isFaultless`: nothing went wrong in the runtime meanwhile. */
  noteEnd(id: string, life: number, isFaultless: (sinceMs: number) => boolean): void {
    const ending = this.#endings.get(id);
    this.#endings.delete(id);
    const container = this.#invariants.find(id);
    const pod = container && this.#invariants.podOf(container);
    if (ending === undefined || pod === undefined || ending.life !== life) return;
    if (!isFaultless(ending.sinceMs)) return;
    const graceSeconds = Math.max(
      shortestGraceSeconds,
      pod.spec.terminationGracePeriodSeconds ?? 30,
    );
    const tookMs = this.#nowMs() - ending.sinceMs;
    // The hook may take the whole grace period; what it leaves is at least the shortest.
    const limitMs = (graceSeconds + shortestGraceSeconds) * 1000 + latencyMs;
    if (tookMs <= limitMs) return;
    throw new Violation(`${pod.metadata.name} took ${tookMs} ms to end, not ${graceSeconds} s`);
  }

  /** The pod is to end, which starts a grace period of its own. */
  noteDeletion(uid: string): void {
    if (this.#deleted.has(uid)) return;
    this.#deleted.add(uid);
    for (const { place } of this.#invariants.runningOf(uid)) this.#endings.delete(place.id);
  }

  #begin(id: string, life: number): void {
    if (this.#endings.get(id)?.life === life) return;
    this.#endings.set(id, { sinceMs: this.#nowMs(), life });
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
}
