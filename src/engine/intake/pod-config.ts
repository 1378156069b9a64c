import {
  type KnownPods,
  mergeSource,
  type SourceSet,
  type SourceUpdate,
} from "../../core/source/merge-source.ts";
import type { PodSourceName } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvents } from "../../ports/pod-events.ts";

interface UpdateSink {
  /** Takes each update, in order. */
  deliver(update: SourceUpdate): void;
}

export interface PodConfigDeps {
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly sink: UpdateSink;
}

/** What every source wants, and the stream of changes that follows from it. */
export class PodConfig {
  readonly #deps: PodConfigDeps;
  readonly #known = new Map<PodSourceName, KnownPods>();

  constructor(deps: PodConfigDeps) {
    this.#deps = deps;
  }

  /** Takes a source's complete set. */
  set(set: SourceSet): void {
    const { clock, events, sink } = this.#deps;
    const { pods, delivered, updates, rejected } = mergeSource(
      this.#known.get(set.source),
      set,
      clock.nowMs(),
    );
    this.#known.set(set.source, { pods, delivered });
    for (const { pod, message } of rejected) {
      events.record(pod, { type: "Warning", reason: "FailedValidation", message });
    }
    for (const update of updates) sink.deliver(update);
  }

  hasSeen(source: PodSourceName): boolean {
    return this.#known.has(source);
  }
}
