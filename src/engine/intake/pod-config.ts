import {
  type KnownPods,
  mergeSource,
  type SourceSet,
  type SourceUpdate,
} from "../../core/source/merge-source.ts";
import type { PodSourceName } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvents } from "../../ports/pod-events.ts";

export interface PodConfigDependencies {
  readonly clock: Clock;
  readonly events: PodEvents;
  /** Takes each update, in order. */
  readonly deliver: (update: SourceUpdate) => void;
}

/** What every source wants, and the stream of changes that follows from it. */
export class PodConfig {
  readonly #deps: PodConfigDependencies;
  readonly #known = new Map<PodSourceName, KnownPods>();

  constructor(deps: PodConfigDependencies) {
    this.#deps = deps;
  }

  /** Takes a source's complete set. */
  set(set: SourceSet): void {
    const { clock, events, deliver } = this.#deps;
    const { pods, delivered, updates, rejected } = mergeSource(
      this.#known.get(set.source),
      set,
      clock.nowMs(),
    );
    this.#known.set(set.source, { pods, delivered });
    for (const { pod, message } of rejected) {
      events.record(pod, { type: "Warning", reason: "FailedValidation", message });
    }
    for (const update of updates) deliver(update);
  }

  hasSeen(source: PodSourceName): boolean {
    return this.#known.has(source);
  }
}
