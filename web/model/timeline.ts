// A pod's life as lanes of items in time, made from its history. Times are those that were noted: what is not known is not drawn.
import type { HistoryEntry, StatusEntry } from "../../src/ports/history.ts";
import { toneOf } from "../lib/tone.ts";
import { containerLanes } from "./container-lanes.ts";
import {
  type Line,
  type SyncEntry,
  spanItem,
  stepLines,
  type TimelineItem,
  type TimelineLane,
  textLine,
} from "./timeline-item.ts";

type EventEntry = Extract<HistoryEntry, { readonly kind: "event" }>;

export interface Timeline {
  readonly startMs: number;
  readonly endMs: number;
  readonly lanes: readonly TimelineLane[];
}

export interface TimelineInput {
  /** Of one pod and of the agent, in any order. */
  readonly entries: readonly HistoryEntry[];
  /** The end of what is drawn. */
  readonly nowMs: number;
}

export function makeTimeline({ entries, nowMs }: TimelineInput): Timeline {
  const known = entries.filter(({ atMs }) => atMs <= nowMs).toSorted((a, b) => a.atMs - b.atMs);
  const ofPod = known.filter((entry) => "uid" in entry);
  const goneMs = ofPod.findLast(({ kind }) => kind === "gone")?.atMs;
  const endMs = goneMs ?? nowMs;
  const startMs = ofPod[0]?.atMs ?? nowMs;
  const statuses = ofPod.filter((entry) => entry.kind === "status");
  const syncs = ofPod.filter((entry) => entry.kind === "sync");
  const events = ofPod.filter((entry) => entry.kind === "event");
  const isGone = goneMs !== undefined;
  const lanes: readonly TimelineLane[] = [
    lane("pod", "Pod", "tall", statusItems(statuses, endMs, isGone)),
    lane("sandbox", "Sandbox", "tall", sandboxItems(syncs, endMs, isGone)),
    ...containerLanes({ statuses, syncs, endMs, isGone }),
    lane("prepare", "Volumes and other needs", "low", preparedItems(syncs)),
    lane("resize", "Resizes", "low", resizeItems(statuses, syncs)),
    lane("plans", "Plans", "low", syncs.map(syncItem)),
    lane("events", "Events", "low", events.map(eventItem)),
    lane("agent", "Agent", "low", agentItems(known, startMs, endMs)),
  ];
  return { startMs, endMs: Math.max(endMs, startMs + 1), lanes: lanes.filter(hasItems) };
}

function lane(
  id: string,
  title: string,
  size: TimelineLane["size"],
  items: readonly TimelineItem[],
): TimelineLane {
  return { id, title, size, items };
}

function hasItems({ items }: TimelineLane): boolean {
  return items.length > 0;
}

/** How far a pull has come stands in the lane of its container. */
function statusText({ status }: StatusEntry): string {
  const detail = status.indexOf(" (");
  return detail < 0 ? status : status.slice(0, detail);
}

function statusItems(
  statuses: readonly StatusEntry[],
  endMs: number,
  isGone: boolean,
): readonly TimelineItem[] {
  const items: TimelineItem[] = [];
  let first = 0;
  for (const [index, entry] of statuses.entries()) {
    const next = statuses[index + 1];
    const begun = statuses[first];
    if (begun === undefined) continue;
    const text = statusText(entry);
    if (next !== undefined && statusText(next) === text && next.ready === entry.ready) continue;
    first = index + 1;
    items.push({
      id: `status-${begun.atMs}-${index}`,
      kind: text,
      tone: toneOf(text),
      startMs: begun.atMs,
      endMs: next?.atMs ?? endMs,
      isOpen: next === undefined && !isGone ? true : undefined,
      label: `${text} ${entry.ready}`,
      title: text,
      lines: [
        { label: "Ready", text: entry.ready },
        { label: "Phase", text: entry.phase },
        ...textLine("Reason", entry.reason),
        ...textLine("Message", entry.message),
        ...entry.conditions.map(({ type, status, reason = "", message = "" }) => ({
          label: type,
          text: [status, reason, message].filter((part) => part !== "").join(": "),
        })),
      ],
    });
  }
  return items;
}

function sandboxItems(
  syncs: readonly SyncEntry[],
  endMs: number,
  isGone: boolean,
): readonly TimelineItem[] {
  const items: TimelineItem[] = [];
  let madeMs: number | undefined;
  const live = (untilMs: number, isOpen: boolean): void => {
    if (madeMs === undefined) return;
    items.push({
      id: `sandbox-${madeMs}`,
      kind: "sandbox",
      tone: "good",
      startMs: madeMs,
      endMs: untilMs,
      isOpen: isOpen ? true : undefined,
      label: "sandbox",
      title: "Sandbox",
      lines: [],
    });
    madeMs = undefined;
  };
  for (const { steps } of syncs) {
    for (const [index, step] of steps.entries()) {
      const { action, startedAtMs, durationMs, outcome } = step;
      if (startedAtMs === undefined) continue;
      const isMade = action.startsWith("create sandbox");
      if (!isMade && !action.startsWith("stop sandbox of")) continue;
      if (!isMade) live(startedAtMs, false);
      items.push({
        id: `sandbox-step-${startedAtMs}-${index}`,
        kind: isMade ? "creation" : "stop",
        tone: outcome === "failed" ? "bad" : "busy",
        startMs: startedAtMs,
        endMs: startedAtMs + durationMs,
        label: isMade ? "create" : "stop",
        title: isMade ? "Creation of the sandbox" : "Stop of the sandbox",
        lines: stepLines(step),
      });
      if (isMade && outcome === "done") madeMs = startedAtMs + durationMs;
    }
  }
  live(endMs, !isGone);
  return items.toSorted((a, b) => a.startMs - b.startMs);
}

function preparedItems(syncs: readonly SyncEntry[]): readonly TimelineItem[] {
  return syncs.flatMap(({ prepared = [], error }) =>
    prepared.map((span) =>
      spanItem(span, { kind: span.what, title: `Preparing ${span.what}`, error }),
    ),
  );
}

function resizeItems(
  statuses: readonly StatusEntry[],
  syncs: readonly SyncEntry[],
): readonly TimelineItem[] {
  const steps = syncs.flatMap(({ steps: all }) =>
    all.filter(({ action }) => action.startsWith("resize ")),
  );
  const items = steps.flatMap((step): readonly TimelineItem[] =>
    step.startedAtMs === undefined
      ? []
      : [
          {
            id: `resize-${step.startedAtMs}`,
            kind: "resize",
            tone: step.outcome === "failed" ? "bad" : "busy",
            startMs: step.startedAtMs,
            endMs: step.startedAtMs + step.durationMs,
            label: "resize",
            title: "Resize",
            lines: stepLines(step),
          },
        ],
  );
  const granted = statuses.flatMap((entry, index): readonly TimelineItem[] => {
    const before = statuses[index - 1];
    const changed = before === undefined ? [] : changedResources(before, entry);
    if (changed.length === 0) return [];
    return [
      {
        id: `granted-${entry.atMs}`,
        kind: "grant",
        tone: "good",
        startMs: entry.atMs,
        label: "",
        title: "Resources granted",
        lines: changed,
      },
    ];
  });
  return [...items, ...granted].toSorted((a, b) => a.startMs - b.startMs);
}

function changedResources(before: StatusEntry, after: StatusEntry): readonly Line[] {
  return after.containers.flatMap(({ name, resources }): readonly Line[] => {
    const earlier = before.containers.find((each) => each.name === name)?.resources;
    if (resources === undefined || earlier === undefined) return [];
    const text = (all: Readonly<Record<string, string>>): string =>
      Object.entries(all)
        .map(([resource, amount]) => `${resource} ${amount}`)
        .join(", ");
    return text(resources) === text(earlier)
      ? []
      : [{ label: name, text: `${text(earlier)} → ${text(resources)}` }];
  });
}

const workTitles: Readonly<Record<SyncEntry["work"], string>> = {
  sync: "Sync",
  terminating: "Ending",
  terminated: "Release",
  removing: "Removal",
};

function syncItem(entry: SyncEntry, index: number): TimelineItem {
  const { work, seen = [], steps, error, cancelled } = entry;
  const hasFailed = error !== undefined || steps.some(({ outcome }) => outcome === "failed");
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  return {
    id: `sync-${entry.atMs}-${index}`,
    kind: steps.length === 0 ? "look" : "plan",
    tone: hasFailed ? "bad" : steps.length === 0 ? "idle" : "busy",
    startMs: entry.atMs,
    endMs: entry.atMs + entry.durationMs,
    label: steps[0]?.action ?? "",
    title:
      steps.length === 0 ? `${workTitles[work]}, nothing to do` : `${workTitles[work]}, ${count}`,
    lines: [
      ...seen.map((text) => ({ label: "Seen", text })),
      ...steps.flatMap((step) => stepLines(step)),
      ...textLine("Failed", error, "bad"),
      ...textLine("Cancelled", cancelled, "warn"),
    ],
  };
}

function eventItem(entry: EventEntry, index: number): TimelineItem {
  const { atMs, type, reason, message, container, count } = entry;
  return {
    id: `event-${atMs}-${index}`,
    kind: type === "Warning" ? "warning" : "event",
    tone: type === "Warning" ? "bad" : "idle",
    startMs: atMs,
    label: reason,
    title: reason,
    lines: [
      ...textLine("Container", container),
      { label: "Message", text: message },
      ...(count > 1 ? [{ label: "Count", text: String(count) }] : []),
    ],
  };
}

/** When nobody watched the pod. */
function agentItems(
  entries: readonly HistoryEntry[],
  startMs: number,
  endMs: number,
): readonly TimelineItem[] {
  return entries.flatMap((entry, index): readonly TimelineItem[] => {
    if (entry.kind !== "agent" || entry.atMs < startMs || entry.atMs > endMs) return [];
    const { what, version, lost, atMs } = entry;
    const title =
      what === "lost" ? `${lost ?? "Some"} entries of history were lost` : `The agent ${what}`;
    const tone = what === "started" ? "good" : "warn";
    const lines = textLine("Version", version);
    return [
      { id: `agent-${atMs}-${index}`, kind: what, tone, startMs: atMs, label: what, title, lines },
    ];
  });
}
