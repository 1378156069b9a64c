import type { PodUid } from "../model/ids.ts";

/** One sync as the flight recorder keeps it. Times are milliseconds since 1970. */
export interface SyncRecord {
  readonly podUid: PodUid;
  readonly pod: string;
  readonly kind: "sync" | "terminating" | "terminated" | "removing";
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** What was observed, one line per sandbox and container. Absent = nothing was looked at. */
  readonly seen?: readonly string[] | undefined;
  /** What had to be ready before the steps and took its time, by the names of the stages. */
  readonly prepared?: readonly RecordedSpan[] | undefined;
  readonly steps: readonly RecordedStep[];
  readonly error?: string | undefined;
  /** Why it was ended before it was done. */
  readonly cancelled?: string | undefined;
}

export interface RecordedStep {
  readonly action: string;
  readonly because: string;
  readonly outcome: "done" | "failed" | "waiting" | "cancelled";
  /** The failure, what is waited for, or why it was cancelled. */
  readonly detail?: string | undefined;
  readonly untilMs?: number | undefined;
  /** Absent in records of agents before 0.2. */
  readonly startedAtMs?: number | undefined;
  readonly durationMs: number;
  /** What it spent its time with, where that is worth knowing. */
  readonly spans?: readonly RecordedSpan[] | undefined;
}

/** A part of a longer work. */
export interface RecordedSpan {
  /** A stage's name, "image", "postStart hook" or "preStop hook". */
  readonly what: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly failed?: true | undefined;
}
