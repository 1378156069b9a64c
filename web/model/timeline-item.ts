// What a timeline is made of.
import type { HistoryEntry } from "../../src/ports/history.ts";
import type { RecordedSpan } from "../../src/ports/sync-record.ts";
import type { Tone } from "../lib/tone.ts";

export type SyncEntry = Extract<HistoryEntry, { readonly kind: "sync" }>;

/** One line of what is known about an item. */
export interface Line {
  readonly label: string;
  readonly text: string;
  readonly tone?: Tone | undefined;
}

export interface TimelineItem {
  readonly id: string;
  /** What it is, in a word or two: items of a kind that stand close together are shown as one. */
  readonly kind: string;
  readonly tone: Tone;
  readonly startMs: number;
  /** Undefined = a moment. */
  readonly endMs?: number | undefined;
  /** It goes on; `endMs` is now. */
  readonly isOpen?: true | undefined;
  /** Fits into the bar, if that is long enough. */
  readonly label: string;
  /** For its name: what it is without its place in time. */
  readonly title: string;
  readonly lines: readonly Line[];
}

export interface TimelineLane {
  readonly id: string;
  readonly title: string;
  /** A lane of moments and short works is drawn lower than one of runs. */
  readonly size: "tall" | "low";
  /** In the order in which they began. */
  readonly items: readonly TimelineItem[];
}

/** A part of a longer work. */
export function spanItem(
  { what, startedAtMs, durationMs, failed }: RecordedSpan,
  how: { readonly kind: string; readonly title: string; readonly error?: string | undefined },
): TimelineItem {
  return {
    id: `span-${what}-${startedAtMs}`,
    kind: how.kind,
    tone: failed ? "bad" : "busy",
    startMs: startedAtMs,
    endMs: startedAtMs + durationMs,
    label: how.kind,
    title: failed ? `${how.title}, failed` : how.title,
    lines: failed ? textLine("Failed", how.error, "bad") : [],
  };
}

const outcomeTones: Readonly<Record<SyncEntry["steps"][number]["outcome"], Tone>> = {
  done: "good",
  failed: "bad",
  waiting: "warn",
  cancelled: "idle",
};

/** What was decided, why, and what became of it. */
export function stepLines(step: SyncEntry["steps"][number]): readonly Line[] {
  const { action, because, outcome, detail } = step;
  return [
    { label: "Decided", text: action },
    { label: "Because", text: because },
    {
      label: outcome === "done" ? "Done" : outcome === "waiting" ? "Waits" : `Was ${outcome}`,
      text: detail ?? (outcome === "done" ? "as decided" : outcome),
      tone: outcomeTones[outcome],
    },
  ];
}

export function textLine(label: string, text: string | undefined, tone?: Tone): readonly Line[] {
  return text === undefined || text === "" ? [] : [{ label, text, tone }];
}
