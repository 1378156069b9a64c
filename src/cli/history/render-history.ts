// What happened to a pod or the node, oldest first, for a person to read.
import { formatTime } from "../../lib/time.ts";
import type {
  AgentEntry,
  ContainerMoment,
  ContainerRun,
  HistoryEntry,
  HistoryPod,
  NodeSample,
  StatusEntry,
} from "../../ports/history.ts";
import { type Paint, printable } from "../output/colour.ts";
import { ago, milliseconds } from "../why/explanation-text.ts";
import { outcomeLines } from "../why/sync-lines.ts";

export interface HistoryLook {
  readonly nowMs: number;
  readonly paint: Paint;
}

const bytesPerMebibyte = 1024 * 1024;

export function podTitle(pod: HistoryPod, { nowMs, paint }: HistoryLook): string[] {
  const { namespace, name, uid, firstSeenMs, goneMs } = pod;
  const now = goneMs === undefined ? "on the node" : `gone since ${ago(goneMs, nowMs)}`;
  return [
    `${paint("bold", `Pod ${namespace}/${name}`)}  ${paint("dim", uid)}`,
    `${now}, first seen ${ago(firstSeenMs, nowMs)}`,
  ];
}

/** Each with its time in front. */
export function entryLines(entries: readonly HistoryEntry[], look: HistoryLook): string[] {
  return entries.flatMap((entry) => {
    const [first = "", ...others] = textOf(entry, look);
    return [`${look.paint("dim", formatTime(entry.atMs))}  ${first}`, ...others];
  });
}

function textOf(entry: HistoryEntry, { nowMs, paint }: HistoryLook): string[] {
  switch (entry.kind) {
    case "status":
      return [`status: ${statusText(entry)}`, ...containerLines(entry).map((line) => `  ${line}`)];
    case "sync": {
      const outcome = outcomeLines(entry, nowMs, paint);
      const head = `${entry.work}, took ${milliseconds(entry.durationMs)}`;
      return [outcome.length === 0 ? `${head}: nothing to do` : `${head}:`, ...outcome];
    }
    case "event": {
      const times = entry.count > 1 ? ` (${entry.count} times)` : "";
      return [`event: ${eventText(entry, paint)}${times}`];
    }
    case "node-event":
      return [`event: ${eventText(entry, paint)}`];
    case "gone":
      return ["gone: nothing of it is left on the node"];
    case "node":
      return [`node: ${sampleText(entry)}`];
    case "agent":
      return [`agent: ${agentText(entry)}`];
  }
}

/** "Running, 1/1 ready, 0 restarts" and what the pod says about it. */
export function statusText(entry: StatusEntry): string {
  const { status, ready, restarts, phase, reason, message } = entry;
  const parts = [
    status,
    `${ready} ready`,
    `${restarts} restarts`,
    ...(phase === status ? [] : [`phase ${phase}`]),
    ...(reason === undefined || reason === status ? [] : [reason]),
  ];
  return printable(`${parts.join(", ")}${message === undefined ? "" : `: ${message}`}`);
}

export function containerLines({ containers }: StatusEntry): string[] {
  return containers.map((container) => printable(containerText(container)));
}

function containerText({ name, kind, isSidecar, state, last, ready }: ContainerMoment): string {
  const role = isSidecar ? "sidecar" : `${kind} container`;
  const health = state.is === "running" && !ready ? ", not ready" : "";
  const before = last === undefined ? "" : `; before that ${runText(last)}`;
  return `${role} ${name}: ${runText(state)}${health}${before}`;
}

function runText({
  is,
  reason,
  message,
  startedMs,
  finishedMs,
  exitCode,
  signal,
}: ContainerRun): string {
  const because = reason === undefined ? "" : ` (${reason})`;
  const said = message === undefined ? "" : `: ${message}`;
  switch (is) {
    case "waiting":
      return `waiting${because}${said}`;
    case "running":
      return startedMs === undefined ? "running" : `running since ${formatTime(startedMs)}`;
    case "terminated": {
      const how = signal === undefined ? `exit code ${exitCode}` : `signal ${signal}`;
      const when = finishedMs === undefined ? "" : ` at ${formatTime(finishedMs)}`;
      return `ended with ${how}${because}${when}${said}`;
    }
  }
}

function eventText(
  {
    type,
    reason,
    message,
  }: { readonly type: string; readonly reason: string; readonly message: string },
  paint: Paint,
): string {
  const colour = type === "Warning" ? "yellow" : undefined;
  return `${paint(colour, printable(reason))}: ${printable(message)}`;
}

function sampleText(sample: NodeSample): string {
  const { cpuCores, memoryBytes, diskUsedBytes, diskCapacityBytes, pods, pressures } = sample;
  const disk =
    diskUsedBytes === undefined || diskCapacityBytes === undefined
      ? []
      : [`disk ${mebibytes(diskUsedBytes)} of ${mebibytes(diskCapacityBytes)}`];
  return [
    ...(cpuCores === undefined ? [] : [`${cpuCores.toFixed(2)} cores`]),
    ...(memoryBytes === undefined ? [] : [`memory ${mebibytes(memoryBytes)}`]),
    ...disk,
    `${pods} pods`,
    ...pressures,
  ].join(", ");
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / bytesPerMebibyte)}Mi`;
}

function agentText({ what, version, lost }: AgentEntry): string {
  const release = version === undefined ? "" : ` (version ${version})`;
  return what === "lost"
    ? `${lost ?? 0} entries were lost: they could not be written`
    : `${what}${release}`;
}
