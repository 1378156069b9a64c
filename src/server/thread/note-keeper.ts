// What a thread counts and logs, kept until the agent takes it over.

import { startTimer, type Timer } from "../../lib/timers.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Log, LogFields } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { LogNote, MetricNote, RecordedNotes } from "../../ports/recorded-notes.ts";

/** Notes travel in batches: how long the first of them waits for others. */
const gatherMs = 100;
/** While the agent takes nothing over, further observations are left out; counters stay exact. */
const maxObservations = 4096;
/** Strangers can make the API log: so many lines a second, and so many at once. */
const linesPerSecond = 20;
const maxLines = 100;

type MetricSink = Pick<Metrics, "increment" | "observe" | "set">;

/** Hands notes over one batch at a time. What it holds is bounded by the number of label series. */
export class NoteKeeper implements MetricSink {
  readonly log: Log;
  readonly #leftOutMessage: string;
  readonly #handOver: (notes: RecordedNotes) => Promise<void>;
  readonly #allowed = new TokenBucket(linesPerSecond, maxLines);
  #totals = new Map<string, MetricNote>();
  #observations: MetricNote[] = [];
  #lines: LogNote[] = [];
  #leftOut = 0;
  #timer: Timer | undefined;
  #handingOver: Promise<void> | undefined;

  /** `leftOutMessage` stands for lines that were too many. */
  constructor(handOver: (notes: RecordedNotes) => Promise<void>, leftOutMessage: string) {
    this.#handOver = handOver;
    this.#leftOutMessage = leftOutMessage;
    const write = (level: keyof Log) => (message: string, fields?: LogFields) =>
      this.#write({ level, message, fields: fields ?? {} });
    this.log = {
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
    };
  }

  increment(name: MetricNote["name"], labels: MetricNote["labels"] = {}, by = 1): void {
    const key = `+${name}${JSON.stringify(labels)}`;
    const value = (this.#totals.get(key)?.value ?? 0) + by;
    this.#totals.set(key, { kind: "increment", name, labels, value });
    this.#schedule();
  }

  set(name: MetricNote["name"], value: number, labels: MetricNote["labels"] = {}): void {
    this.#totals.set(`=${name}${JSON.stringify(labels)}`, { kind: "set", name, labels, value });
    this.#schedule();
  }

  observe(name: MetricNote["name"], value: number, labels: MetricNote["labels"] = {}): void {
    if (this.#observations.length >= maxObservations) return;
    this.#observations.push({ kind: "observe", name, labels, value });
    this.#schedule();
  }

  /** Resolves when all that was noted so far is handed over. */
  async flush(): Promise<void> {
    await this.#handingOver;
    if (this.#hasNotes()) await this.#next();
  }

  #write(line: LogNote): void {
    if (this.#lines.length < maxLines && this.#allowed.tryTake(performance.now())) {
      this.#lines.push({ ...line, fields: plainFields(line.fields) });
    } else {
      this.#leftOut++;
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#handingOver !== undefined) return;
    this.#timer = startTimer(gatherMs, () => {
      this.#timer = undefined;
      void this.#next();
    });
  }

  #next(): Promise<void> {
    this.#handingOver ??= this.#handOver(this.#take())
      // They are lost with an agent that cannot take them.
      .catch(() => undefined)
      .finally(() => {
        this.#handingOver = undefined;
        if (this.#hasNotes()) this.#schedule();
      });
    return this.#handingOver;
  }

  #hasNotes(): boolean {
    return this.#totals.size + this.#observations.length + this.#lines.length > 0;
  }

  #take(): RecordedNotes {
    const leftOut: LogNote[] =
      this.#leftOut === 0
        ? []
        : [
            {
              level: "warn",
              message: this.#leftOutMessage,
              fields: { count: this.#leftOut },
            },
          ];
    const notes = {
      metrics: [...this.#totals.values(), ...this.#observations],
      lines: [...this.#lines, ...leftOut],
    };
    this.#totals = new Map();
    this.#observations = [];
    this.#lines = [];
    this.#leftOut = 0;
    return notes;
  }
}

/** An error keeps only its text between threads. */
function plainFields(fields: LogFields): LogFields {
  const plain = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Error ? value.message : value,
  ]);
  return Object.fromEntries(plain);
}
