import type { SyncEntry } from "../../ports/history.ts";
import type { RecordedStep } from "../../ports/sync-record.ts";
import { type Paint, printable } from "../output/colour.ts";
import { ago, milliseconds, moment } from "./explanation-text.ts";

type ShownSync = Pick<SyncEntry, "atMs" | "work" | "durationMs" | "steps" | "error" | "cancelled">;

/** One sync: when, and each step with its reason and outcome. */
export function syncLines(sync: ShownSync, nowMs: number, paint: Paint): string[] {
  const head = `${ago(sync.atMs, nowMs)}, ${sync.work}, took ${milliseconds(sync.durationMs)}`;
  const outcome = outcomeLines(sync, nowMs, paint);
  return outcome.length === 0 ? [`${head}: nothing to do`] : [`${head}:`, ...outcome];
}

/** What was done, and how it ended; nothing where there was nothing to do. */
export function outcomeLines(
  { steps, error, cancelled }: Pick<ShownSync, "steps" | "error" | "cancelled">,
  nowMs: number,
  paint: Paint,
): string[] {
  return [
    ...steps.flatMap((step) => stepLines(step, nowMs, paint)),
    ...(error === undefined ? [] : [`  ${paint("red", "failed:")} ${printable(error)}`]),
    ...(cancelled === undefined
      ? []
      : [`  ${paint("yellow", "cancelled:")} ${printable(cancelled)}`]),
  ];
}

function stepLines(step: RecordedStep, nowMs: number, paint: Paint): string[] {
  const { action, because, outcome, detail, untilMs, durationMs } = step;
  const colour = { done: "green", failed: "red", waiting: "yellow", cancelled: "yellow" } as const;
  const result = outcome === "waiting" ? "waiting" : `${outcome} in ${milliseconds(durationMs)}`;
  const until = untilMs === undefined ? "" : ` until ${moment(untilMs, nowMs)}`;
  return [
    `  ${printable(action)}: ${paint(colour[outcome], result)}${until}`,
    `    because ${printable(because)}`,
    ...(detail === undefined ? [] : [`    ${printable(detail)}`]),
  ];
}
