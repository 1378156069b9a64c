// The runs of each container side by side, with what came between and before them.
import type { ContainerMoment, ContainerRun, StatusEntry } from "../../src/ports/history.ts";
import type { Tone } from "../lib/tone.ts";
import {
  type SyncEntry,
  spanItem,
  type TimelineItem,
  type TimelineLane,
  textLine,
} from "./timeline-item.ts";

export interface ContainerLanesInput {
  /** In the order in which they were noted. */
  readonly statuses: readonly StatusEntry[];
  readonly syncs: readonly SyncEntry[];
  readonly endMs: number;
  readonly isGone: boolean;
}

interface Run {
  readonly startedMs: number;
  run: ContainerRun;
  /** Until when a status said that it runs. */
  lastSeenMs: number;
  isCurrent: boolean;
}

/** A state that lasted. */
interface Stretch {
  readonly startMs: number;
  endMs: number;
  readonly key: string;
  readonly moment: ContainerMoment;
  /** It is the newest that is known. */
  isLast: boolean;
}

export function containerLanes(input: ContainerLanesInput): readonly TimelineLane[] {
  const newest = input.statuses.at(-1);
  return (newest?.containers ?? []).flatMap(
    ({ name, kind, isSidecar }): readonly TimelineLane[] => {
      const title = isSidecar
        ? `${name} (sidecar)`
        : kind === "regular"
          ? name
          : `${name} (${kind})`;
      const moments = momentsOf(input, name);
      const runs = [...runItems(input, moments), ...waitItems(moments, input.isGone)];
      const below = [...readyItems(moments, input.isGone), ...spanItems(input.syncs, name)];
      return [
        { id: `container-${name}`, title, size: "tall", items: runs.toSorted(byStart) },
        {
          id: `container-${name}-below`,
          title: "",
          size: "low",
          items: below.toSorted(byStart),
        },
      ];
    },
  );
}

interface Moment {
  readonly atMs: number;
  readonly untilMs: number;
  readonly isLast: boolean;
  readonly moment: ContainerMoment;
}

function momentsOf({ statuses, endMs }: ContainerLanesInput, name: string): readonly Moment[] {
  return statuses.flatMap(({ atMs, containers }, index): readonly Moment[] => {
    const moment = containers.find((each) => each.name === name);
    const next = statuses[index + 1];
    const untilMs = next?.atMs ?? endMs;
    return moment === undefined ? [] : [{ atMs, untilMs, isLast: next === undefined, moment }];
  });
}

function runItems(
  { endMs, isGone }: ContainerLanesInput,
  moments: readonly Moment[],
): readonly TimelineItem[] {
  const runs = new Map<number, Run>();
  for (const { atMs, untilMs, isLast, moment } of moments) {
    for (const run of [moment.last, moment.state]) {
      if (run?.startedMs === undefined || run.is === "waiting") continue;
      const known = runs.get(run.startedMs);
      const isCurrent = isLast && run.is === "running" && !isGone;
      const lastSeenMs = run.is === "running" ? untilMs : atMs;
      if (known === undefined) {
        runs.set(run.startedMs, { startedMs: run.startedMs, run, lastSeenMs, isCurrent });
      } else {
        known.isCurrent = isCurrent;
        known.lastSeenMs = Math.max(known.lastSeenMs, lastSeenMs);
        if (run.is === "terminated") known.run = run;
      }
    }
  }
  return [...runs.values()]
    .toSorted((a, b) => a.startedMs - b.startedMs)
    .map((run, index) => runItem(run, index, endMs));
}

function runItem(
  { startedMs, run, lastSeenMs, isCurrent }: Run,
  index: number,
  endMs: number,
): TimelineItem {
  const { is, reason, message, finishedMs, exitCode, signal } = run;
  const end = isCurrent ? endMs : (finishedMs ?? lastSeenMs);
  const how = howEnded(run);
  return {
    id: `run-${startedMs}-${index}`,
    kind: isCurrent ? "running" : how,
    tone: runTone(run, isCurrent),
    startMs: startedMs,
    endMs: Math.max(end, startedMs),
    isOpen: isCurrent ? true : undefined,
    label: isCurrent ? "running" : how,
    title: isCurrent ? `Run ${index + 1}, running` : `Run ${index + 1}, ${how}`,
    lines: [
      ...(is === "terminated"
        ? textLine("Exit code", exitCode === undefined ? undefined : String(exitCode))
        : []),
      ...textLine("Signal", signal === undefined || signal === 0 ? undefined : String(signal)),
      ...textLine("Reason", reason, runTone(run, isCurrent)),
      ...textLine("Message", message),
      ...(is === "running" && !isCurrent
        ? [{ label: "End", text: "it was not noted how and when it ended" }]
        : []),
    ],
  };
}

function howEnded({ is, reason, exitCode }: ContainerRun): string {
  if (is === "running") return "end unknown";
  if (reason === "OOMKilled") return "OOM";
  return `exit ${exitCode ?? "unknown"}`;
}

function runTone({ is, exitCode }: ContainerRun, isCurrent: boolean): Tone {
  if (isCurrent) return "good";
  if (is === "running") return "warn";
  return exitCode === 0 ? "idle" : "bad";
}

/** What everybody sees while a container is only on its way. */
const usual: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing", ""]);

function waitItems(moments: readonly Moment[], isGone: boolean): readonly TimelineItem[] {
  const stretches = stretchesOf(moments, ({ state }) =>
    state.is === "waiting" && !usual.has(state.reason ?? "") ? (state.reason ?? "") : undefined,
  );
  return stretches.map(({ startMs, endMs, key, moment, isLast }) => ({
    id: `wait-${startMs}`,
    kind: key,
    tone: "warn",
    startMs,
    endMs,
    isOpen: isLast && !isGone ? true : undefined,
    label: key,
    title: key,
    lines: textLine("Message", moment.state.message),
  }));
}

function readyItems(moments: readonly Moment[], isGone: boolean): readonly TimelineItem[] {
  const stretches = stretchesOf(moments, ({ state, ready, started }) => {
    if (state.is !== "running") return undefined;
    return ready ? "ready" : started === false ? "starting up" : "not ready";
  });
  return stretches.map(({ startMs, endMs, key, isLast }) => ({
    id: `ready-${startMs}`,
    kind: key,
    tone: key === "ready" ? "good" : key === "not ready" ? "warn" : "busy",
    startMs,
    endMs,
    isOpen: isLast && !isGone ? true : undefined,
    label: "",
    title: key === "ready" ? "Ready" : key === "not ready" ? "Not ready" : "Not started yet",
    lines: [{ label: "Probes", text: `they find it ${key}` }],
  }));
}

function stretchesOf(
  moments: readonly Moment[],
  keyOf: (moment: ContainerMoment) => string | undefined,
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let current: Stretch | undefined;
  for (const { atMs, untilMs, isLast, moment } of moments) {
    const key = keyOf(moment);
    if (key !== undefined && current?.key === key && current.endMs === atMs) {
      current.endMs = untilMs;
      current.isLast = isLast;
      continue;
    }
    current =
      key === undefined ? undefined : { startMs: atMs, endMs: untilMs, key, moment, isLast };
    if (current !== undefined) stretches.push(current);
  }
  return stretches;
}

/** Images and hooks, within the steps that they belong to. */
function spanItems(syncs: readonly SyncEntry[], name: string): readonly TimelineItem[] {
  return syncs.flatMap(({ steps }) =>
    steps
      .filter(({ action }) => action.endsWith(` container ${name}`))
      .flatMap(({ spans = [], detail }) =>
        spans.map((span) => {
          const title = span.what === "image" ? "Getting the image" : span.what;
          return spanItem(span, { kind: span.what, title, error: detail });
        }),
      ),
  );
}

function byStart(a: TimelineItem, b: TimelineItem): number {
  return a.startMs - b.startMs;
}
