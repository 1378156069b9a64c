// The answer to "why": what is wanted, seen, decided and awaited, for a person to read.
import { isSidecar, podContainers } from "../../model/pod.ts";
import { podRow } from "../../model/pod-row.ts";
import type { Awaited, PodExplanation } from "../../ports/agent-view.ts";
import type { SourceProblem } from "../../ports/pod-source.ts";
import { type Paint, printable } from "../output/colour.ts";
import { holdingText } from "../output/holding-text.ts";
import { placedProblemText } from "../output/problem-text.ts";
import { alignColumns } from "../output/table.ts";
import { ago, moment, section } from "./explanation-text.ts";
import { syncLines } from "./sync-lines.ts";

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
  const shown = syncs
    .slice(0, most)
    .flatMap(({ startedAtMs, kind, ...sync }) =>
      syncLines({ ...sync, atMs: startedAtMs, work: kind }, nowMs, paint),
    );
  const hidden = syncs.length - most;
  return hidden > 0
    ? [...shown, `${hidden} older ones: --syncs ${syncs.length} shows them`]
    : shown;
}

function awaited({ awaiting }: PodExplanation, nowMs: number): string[] {
  if (awaiting.length === 0) return ["nothing: the agent acts when something changes"];
  return awaiting.map(({ what, untilMs }: Awaited) =>
    untilMs === undefined
      ? `${printable(what)} (no fixed time)`
      : `${printable(what)}, at ${moment(untilMs, nowMs)}`,
  );
}
