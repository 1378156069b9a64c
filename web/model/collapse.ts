// What stands too close together to be told apart is drawn as one.
import type { Tone } from "../lib/tone.ts";
import type { Line, TimelineItem } from "./timeline-item.ts";

/** What of time is drawn, and how wide. */
export interface Scale {
  readonly startMs: number;
  readonly endMs: number;
  readonly width: number;
}

/** An item, or several in one place. */
export interface Drawn {
  readonly item: TimelineItem;
  readonly x: number;
  readonly width: number;
  /** 1 = the item itself. */
  readonly count: number;
}

/** Narrower than this nothing can be hit. */
const leastWidth = 4;
const gap = 1;
const mostKinds = 6;
const gravest: readonly Tone[] = ["bad", "warn", "busy", "good", "idle"];

/** The items of a lane that can be seen, in order; never more than the width has room for. */
export function drawItems(items: readonly TimelineItem[], scale: Scale): readonly Drawn[] {
  const { startMs, endMs, width } = scale;
  const perMs = width / (endMs - startMs);
  const drawn: Drawn[] = [];
  let group: TimelineItem[] = [];
  let left = 0;
  let right = Number.NEGATIVE_INFINITY;
  let isNarrow = false;
  const flush = (): void => {
    const [first] = group;
    if (first === undefined) return;
    const item = group.length === 1 ? first : groupOf(group);
    drawn.push({ item, x: left, width: right - left, count: group.length });
  };
  for (const item of items) {
    const itemEndMs = item.endMs ?? item.startMs;
    if (itemEndMs < startMs || item.startMs > endMs) continue;
    const from = Math.max((item.startMs - startMs) * perMs, 0);
    const to = Math.min(Math.max((itemEndMs - startMs) * perMs, from + leastWidth), width);
    const itemIsNarrow = to - from <= leastWidth + gap;
    // A wide bar may begin where a narrow one has not ended; two narrow ones become one.
    if (group.length > 0 && itemIsNarrow && isNarrow && from < right + gap) {
      group.push(item);
      right = Math.max(right, to);
      continue;
    }
    flush();
    group = [item];
    left = Math.min(from, width - leastWidth);
    right = Math.max(to, left + leastWidth);
    isNarrow = itemIsNarrow;
  }
  flush();
  return drawn;
}

function groupOf(items: readonly TimelineItem[]): TimelineItem {
  const [first] = items;
  const last = items.at(-1);
  const counts = new Map<string, number>();
  let endMs = 0;
  for (const item of items) {
    counts.set(item.kind, (counts.get(item.kind) ?? 0) + 1);
    endMs = Math.max(endMs, item.endMs ?? item.startMs);
  }
  const kinds = [...counts].toSorted((a, b) => b[1] - a[1]);
  const lines: readonly Line[] = kinds
    .slice(0, mostKinds)
    .map(([kind, count]) => ({ label: `${count} ×`, text: kind }));
  const tones = new Set(items.map(({ tone }) => tone));
  return {
    id: `${first?.id ?? ""}+${last?.id ?? ""}`,
    kind: "several",
    tone: gravest.find((tone) => tones.has(tone)) ?? "idle",
    startMs: first?.startMs ?? 0,
    endMs,
    label: kinds
      .slice(0, 2)
      .map(([kind, count]) => `${count} × ${kind}`)
      .join(", "),
    title: `${items.length} together: ${kinds
      .slice(0, mostKinds)
      .map(([kind, count]) => `${count} × ${kind}`)
      .join(", ")}`,
    lines: [...lines, { label: "Zoom in", text: "to see each of them" }],
  };
}
