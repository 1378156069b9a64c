import {
  countRestart,
  crashLoopLimits,
  pruneRestartHistory,
  type RestartHistory,
  recallRestarts,
} from "../../core/restart/crash-loop-backoff.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import { type AnyContainer, type Pod, podContainers } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";

export interface RestartsDeps {
  readonly table: PodTable;
  readonly clock: Pick<Clock, "nowMs">;
  readonly limits?: BackoffLimits | undefined;
}

/** Remembers how long each container waits after its next end: what plans hold crashing containers back by. */
export class Restarts {
  readonly limits: BackoffLimits;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #startedAtMs: number;
  readonly #slices: SliceWriter<"restarts">;

  constructor({ table, clock, limits = crashLoopLimits }: RestartsDeps) {
    this.limits = limits;
    this.#clock = clock;
    this.#startedAtMs = clock.nowMs();
    this.#slices = table.writer("restarts");
  }

  /** Without what is too old to matter, and with what an agent before this one must have known. */
  historyOf(pod: Pod, observed: ObservedPod): RestartHistory {
    const known = this.#slices.get(pod.metadata.uid) ?? new Map<string, never>();
    let history = pruneRestartHistory(known, this.#clock.nowMs());
    for (const { container } of podContainers(pod)) {
      const finishedAtMs = findObserved(observed, container.name)?.finishedAtMs;
      if (finishedAtMs === undefined || finishedAtMs >= this.#startedAtMs) continue;
      history = recallRestarts(history, { pod, container, observed }, this.limits);
    }
    return history;
  }

  /** The container is started, and will wait so long after its next end. */
  noteStart(pod: Pod, container: AnyContainer, delayMs: number): void {
    const { uid } = pod.metadata;
    const nowMs = this.#clock.nowMs();
    const known = pruneRestartHistory(this.#slices.get(uid) ?? new Map<string, never>(), nowMs);
    this.#slices.set(uid, countRestart(known, { pod, container, nowMs }, delayMs));
  }
}
