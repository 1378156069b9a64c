import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { HistoryEntry } from "../../../src/ports/history.ts";
import { useAtMs } from "../../hooks.ts";
import { dateText } from "../../model/time-ticks.ts";
import { useHistory } from "./use-history.ts";

type EventEntry = Extract<HistoryEntry, { readonly kind: "event" }>;

const mostRows = 500;

/** The pod's events, newest first: one row for each that says something else, with its newest count. */
export function EventsTab({ uid }: { readonly uid: string }): JSX.Element {
  const atMs = useAtMs();
  const { entries, isRead, failure, hasOlder, readOlder } = useHistory(uid, atMs);
  const events = useMemo(() => newestOfEach(entries), [entries]);
  if (failure !== undefined && entries.length === 0) return <p role="alert">{failure.message}</p>;
  if (isRead && events.length === 0) return <p class="muted">History has no events of this pod.</p>;
  return (
    <>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Last seen</th>
            <th scope="col">Type</th>
            <th scope="col">Reason</th>
            <th scope="col">Container</th>
            <th scope="col">Message</th>
            <th scope="col">Count</th>
          </tr>
        </thead>
        <tbody>
          {events
            .slice(0, mostRows)
            .map(({ atMs: seenMs, type, reason, container, message, count }) => (
              <tr key={`${reason} ${container} ${message}`}>
                <td class="nowrap">{dateText(seenMs)}</td>
                <td>
                  <span class={`badge ${type === "Warning" ? "bad" : "idle"}`}>{type}</span>
                </td>
                <td>{reason}</td>
                <td>{container ?? ""}</td>
                <td class="wide">{message}</td>
                <td>{count}</td>
              </tr>
            ))}
        </tbody>
      </table>
      {hasOlder && (
        <button type="button" class="button" onClick={readOlder}>
          Read what is older
        </button>
      )}
    </>
  );
}

function newestOfEach(entries: readonly HistoryEntry[]): readonly EventEntry[] {
  const newest = new Map<string, EventEntry>();
  for (const entry of entries) {
    if (entry.kind !== "event") continue;
    const key = JSON.stringify([entry.reason, entry.message, entry.container]);
    const known = newest.get(key);
    if (known === undefined || known.atMs < entry.atMs) newest.set(key, entry);
  }
  return [...newest.values()].toSorted((a, b) => b.atMs - a.atMs);
}
