import { parseTime } from "../../lib/time.ts";
import type { Event } from "../../model/generated/kubernetes.ts";
import { ageSince } from "../../model/pod-row.ts";
import type { Outline } from "./outline.ts";

/** Oldest first, as kubectl lists them. */
export function describeEvents(out: Outline, events: readonly Event[], nowMs: number): void {
  if (events.length === 0) {
    out.line(0, "Events:", "<none>");
    return;
  }
  out.line(0, "Events:");
  out.line(1, "Type", "Reason", "Age", "From", "Message");
  out.line(1, "----", "------", "----", "----", "-------");
  for (const event of events.toSorted((a, b) => lastSeenMs(a) - lastSeenMs(b))) {
    const { type, reason, source, reportingComponent, message, involvedObject } = event;
    const place = (involvedObject.fieldPath ?? "") === "" ? "" : `${involvedObject.fieldPath}: `;
    const from = source?.component ?? reportingComponent ?? "";
    const cells = [type ?? "", reason ?? "", eventAge(event, nowMs), from];
    out.line(1, ...cells, `${place}${(message ?? "").trim()}`);
  }
}

function eventAge(event: Event, nowMs: number): string {
  const { eventTime, firstTimestamp, lastTimestamp, count, series } = event;
  const first = ageSince(eventTime ?? firstTimestamp, nowMs);
  const times = series?.count ?? count ?? 1;
  if (times <= 1) return first;
  const last = ageSince(series?.lastObservedTime ?? lastTimestamp, nowMs);
  return `${last} (x${times} over ${first})`;
}

function lastSeenMs({ series, lastTimestamp, eventTime, firstTimestamp }: Event): number {
  const time = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp;
  return (time === undefined ? undefined : parseTime(time)) ?? 0;
}
