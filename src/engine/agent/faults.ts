import { errorText } from "../../lib/error-text.ts";
import { LruMap } from "../../lib/lru-map.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import { podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";

/** What the agent was doing when something unexpected was thrown. */
export type FaultPlace =
  | "admission"
  | "background task"
  | "dispatch"
  | "housekeeping"
  | "intake"
  | "observation"
  | "probe"
  | "resize"
  | "stats"
  | "status report"
  | "sync"
  | "view"
  | "worker";

export interface FaultsDeps {
  readonly log: Log;
  readonly metrics: Pick<Metrics, "increment">;
  readonly clock: Pick<Clock, "monotonicMs" | "nowMs">;
  readonly table: Pick<PodTable, "get">;
  readonly events: PodEvents;
  readonly recorder: Pick<FlightRecorder, "record">;
}

/** One that comes again and again is logged no more often. */
const repeatMs = 60_000;
const rememberedFaults = 1_000;

/**
 * Where exceptions end that concern one pod or one task. They are logged with their stack, counted, and shown at the pod; all
 * other pods go on. See ADR 17.
 */
export class Faults {
  readonly #deps: FaultsDeps;
  readonly #loggedAtMs = new LruMap<string, number>(rememberedFaults);

  constructor(deps: FaultsDeps) {
    this.#deps = deps;
  }

  /** `subject` is a pod's UID, or the name of a task. */
  note(error: unknown, during: FaultPlace, subject: string): void {
    const { log, metrics, clock } = this.#deps;
    metrics.increment("berth_unexpected_errors_total", { during });
    const message = errorText(error);
    const key = `${during} ${subject} ${message}`;
    const nowMs = clock.monotonicMs();
    const loggedAtMs = this.#loggedAtMs.get(key);
    if (loggedAtMs !== undefined && nowMs - loggedAtMs < repeatMs) return;
    this.#loggedAtMs.set(key, nowMs);
    const stack = error instanceof Error ? error.stack : undefined;
    log.error("unexpected error", { during, subject, error: message, stack });
    if (during === "background task") return;
    try {
      this.#showAtPod(podUid(subject), `unexpected error (${during}): ${message}`);
    } catch (thrown) {
      log.error("cannot show an unexpected error", { subject, error: errorText(thrown) });
    }
  }

  /** As an event, and for `berth why`. */
  #showAtPod(podUid: PodUid, message: string): void {
    const { table, events, recorder, clock } = this.#deps;
    const pod = table.get(podUid)?.wanted;
    if (pod === undefined) return;
    recorder.record({
      podUid,
      pod: podKey(pod),
      kind: "sync",
      startedAtMs: clock.nowMs(),
      durationMs: 0,
      steps: [],
      error: message,
    });
    events.record(pod, { type: "Warning", reason: "FailedSync", message });
  }

  /** Does one pod's part of a larger work: undefined when it threw. */
  attempt<T>(during: FaultPlace, podUid: PodUid, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.note(error, during, podUid);
      return undefined;
    }
  }
}
