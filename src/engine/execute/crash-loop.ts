import type { Decision } from "../../core/record/decision.ts";
import {
  crashLoopLimits,
  pruneRestartHistory,
  type RestartHistory,
  recallRestarts,
  restartBackoff,
  restartHistoryOf,
} from "../../core/restart/crash-loop-backoff.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import { type PlacedContainer, type Pod, podDisplayName } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { StepFailure } from "./step-report.ts";

/** Remembers how often each container crashed, and holds its restart back accordingly. */
export class CrashLoop {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #events: PodEvents;
  readonly #limits: BackoffLimits;
  readonly #startedAtMs: number;
  readonly #onDecision: (decision: Decision) => void;
  #history: RestartHistory = new Map();

  constructor(
    clock: Pick<Clock, "nowMs">,
    events: PodEvents,
    limits: BackoffLimits = crashLoopLimits,
    onDecision: (decision: Decision) => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#events = events;
    this.#limits = limits;
    this.#startedAtMs = clock.nowMs();
    this.#onDecision = onDecision;
  }

  /** Why the container may not start yet; undefined lets it start and counts the start. */
  check(pod: Pod, placed: PlacedContainer, observed: ObservedPod): StepFailure | undefined {
    const { container, kind } = placed;
    const attempt = { pod, container, observed, nowMs: this.#clock.nowMs() };
    if (endedBefore(observed, container.name, this.#startedAtMs)) {
      this.#history = recallRestarts(this.#history, attempt, this.#limits);
    }
    const input = {
      ...attempt,
      history: restartHistoryOf(this.#history, attempt),
      limits: this.#limits,
    };
    const decision = restartBackoff(input.history, input, input.limits);
    this.#onDecision({ kind: "restart", atMs: attempt.nowMs, input, outcome: decision });
    if (decision.kind === "start") {
      this.#history = new Map([...this.#history, ...decision.history]);
      return undefined;
    }
    this.#events.record(pod, {
      type: "Warning",
      reason: "BackOff",
      message: `Back-off restarting failed container ${container.name} in pod ${podDisplayName(pod)}`,
      container: { kind, name: container.name },
    });
    return { code: "CrashLoopBackOff", message: decision.message, retryAtMs: decision.untilMs };
  }

  /** Drops what is too old to matter. */
  prune(): void {
    this.#history = pruneRestartHistory(this.#history, this.#clock.nowMs());
  }
}

function endedBefore(observed: ObservedPod, name: string, ms: number): boolean {
  const finishedAtMs = findObserved(observed, name)?.finishedAtMs;
  return finishedAtMs !== undefined && finishedAtMs < ms;
}
