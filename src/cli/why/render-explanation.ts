// The answer to "why": what is wanted, seen, decided and awaited, for a person to read.
import { formatAge } from "../../lib/duration.ts";
import { formatTime } from "../../lib/time.ts";
import { isSidecar, podContainers } from "../../model/pod.ts";
import { podRow } from "../../model/pod-row.ts";
import type { Awaited, PodExplanation } from "../../ports/agent-view.ts";
import type { SourceProblem } from "../../ports/pod-source.ts";
import type { RecordedStep, SyncRecord } from "../../ports/sync-record.ts";
import { type Paint, printable } from "../output/colour.ts";
import { holdingText } from "../output/holding-text.ts";
import { placedProblemText } from "../output/problem-text.ts";
import { alignColumns } from "../output/table.ts";

interface RenderOptions {
  readonly nowMs: number;
  readonly paint: Paint;
  /** At most that many syncs are shown. */
  readonly syncs: number;
  /** What was refused of the pod's manifests. */
  readonly problems: readonly SourceProblem[];
}

export function renderExplanation(explanation: PodExplanation, options: RenderOptions): string {
  const { nowMs, paint, problems } = options;
  const { pod, workerState, holds = [] } = explanation;
  const { namespace, name, uid } = pod.metadata;
  const row = podRow(pod, nowMs);
  const title = `Pod ${namespace}/${name}`;
  return [
    `${paint("bold", title)}  ${paint("dim", uid)}`,
    `${row.status}, ${row.ready} ready, ${row.restarts} restarts, ${row.age} old; its worker: ${workerState}`,
    ...section(paint, "Wanted", wanted(explanation)),
    ...(problems.length === 0
      ? []
      : section(paint, "Wanted, but refused", problems.map(placedProblemText))),
    ...section(paint, "Seen", seen(explanation, nowMs)),
    ...(holds.length === 0 ? [] : section(paint, "Held", holds.map(holdingText))),
    ...section(paint, "Decided, newest first", decided(explanation, options)),
    ...section(paint, "Awaited", awaited(explanation, nowMs)),
    "",
  ].join("\n");
}

function section(paint: Paint, title: string, lines: readonly string[]): string[] {
  return ["", paint("bold", title), ...lines.map((line) => `  ${line}`)];
}

function wanted({ pod }: PodExplanation): string[] {
  const { spec, metadata } = pod;
  const rows = podContainers(pod).map(({ kind, container }) => [
    kind === "init" && isSidecar(container) ? "sidecar" : `${kind} container`,
    container.name,
    container.image ?? "",
  ]);
  const ending =
    metadata.deletionTimestamp === undefined
      ? []
      : [
          `to be gone: deletion was asked for at ${metadata.deletionTimestamp}, with ${metadata.deletionGracePeriodSeconds ?? 0}s of grace`,
        ];
  const network = spec.hostNetwork === true ? ", in the host's network" : "";
  return [
    ...ending,
    `restart policy ${spec.restartPolicy ?? "Always"}${network}`,
    ...alignColumns(rows),
  ];
}

function seen({ syncs }: PodExplanation, nowMs: number): string[] {
  if (syncs.length === 0) return ["nothing yet: the pod was not synced since the agent started"];
  // An unexpected error is recorded without a look at the runtime.
  const newest = syncs.find((sync) => sync.seen !== undefined);
  if (newest?.seen === undefined) return ["unknown: no recorded sync looked at the runtime"];
  const lines = newest.seen.length === 0 ? ["nothing of it in the runtime"] : newest.seen;
  return [`at the last sync, ${ago(newest.startedAtMs, nowMs)}:`, ...lines.map(printable)];
}

function decided(
  { syncs }: PodExplanation,
  { nowMs, paint, syncs: most }: RenderOptions,
): string[] {
  if (syncs.length === 0) return ["nothing yet"];
  const shown = syncs.slice(0, most).flatMap((sync) => syncLines(sync, nowMs, paint));
  const hidden = syncs.length - most;
  return hidden > 0
    ? [...shown, `${hidden} older ones: --syncs ${syncs.length} shows them`]
    : shown;
}

function syncLines(sync: SyncRecord, nowMs: number, paint: Paint): string[] {
  const head = `${ago(sync.startedAtMs, nowMs)}, ${sync.kind}, took ${milliseconds(sync.durationMs)}`;
  const { error, cancelled } = sync;
  const nothing = sync.steps.length === 0 && error === undefined && cancelled === undefined;
  return [
    nothing ? `${head}: nothing to do` : `${head}:`,
    ...sync.steps.flatMap((step) => stepLines(step, nowMs, paint)),
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

function awaited({ awaiting }: PodExplanation, nowMs: number): string[] {
  if (awaiting.length === 0) return ["nothing: the agent acts when something changes"];
  return awaiting.map(({ what, untilMs }: Awaited) =>
    untilMs === undefined
      ? `${printable(what)} (no fixed time)`
      : `${printable(what)}, at ${moment(untilMs, nowMs)}`,
  );
}

/** "12s ago (2026-01-01T00:00:00Z)" */
function ago(ms: number, nowMs: number): string {
  return `${formatAge(nowMs - ms)} ago (${formatTime(ms)})`;
}

/** "2026-01-01T00:00:00Z (in 12s)" */
function moment(ms: number, nowMs: number): string {
  const relative = ms >= nowMs ? `in ${formatAge(ms - nowMs)}` : `${formatAge(nowMs - ms)} ago`;
  return `${formatTime(ms)} (${relative})`;
}

function milliseconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`;
}
