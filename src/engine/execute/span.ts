import type { Clock } from "../../ports/clock.ts";
import type { RecordedSpan } from "../../ports/sync-record.ts";

/** What takes less is not worth an entry. */
const shortestMs = 20;

type SpanClock = Pick<Clock, "nowMs" | "monotonicMs">;

/** A part of a work, measured from now on. */
class OpenSpan {
  readonly #clock: SpanClock;
  readonly #what: string;
  readonly #startedAtMs: number;
  readonly #startedMs: number;

  constructor(clock: SpanClock, what: string) {
    this.#clock = clock;
    this.#what = what;
    this.#startedAtMs = clock.nowMs();
    this.#startedMs = clock.monotonicMs();
  }

  end(how?: { readonly failed: true }): RecordedSpan {
    const durationMs = Math.round(this.#clock.monotonicMs() - this.#startedMs);
    return { what: this.#what, startedAtMs: this.#startedAtMs, durationMs, ...how };
  }
}

export function startSpan(clock: SpanClock, what: string): OpenSpan {
  return new OpenSpan(clock, what);
}

/** The parts of one work, in the order in which they ended. */
export class SpanLog {
  readonly spans: RecordedSpan[] = [];
  readonly #clock: SpanClock;

  constructor(clock: SpanClock) {
    this.#clock = clock;
  }

  async measure(what: string, work: Promise<void>): Promise<void> {
    const span = new OpenSpan(this.#clock, what);
    try {
      await work;
      this.spans.push(span.end());
    } catch (error) {
      this.spans.push(span.end({ failed: true }));
      throw error;
    }
  }
}

/** Those that took their time, or failed. */
export function notableSpans(spans: readonly RecordedSpan[]): readonly RecordedSpan[] | undefined {
  const notable = spans.filter(({ durationMs, failed }) => durationMs >= shortestMs || failed);
  return notable.length === 0 ? undefined : notable;
}
