import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { RecordedNotes } from "../ports/recorded-notes.ts";

/** What another thread counted and logged becomes the agent's own. */
export function takeOverNotes(
  notes: RecordedNotes,
  { metrics, log }: { readonly metrics?: Metrics | undefined; readonly log: Log },
): void {
  for (const { kind, name, labels, value } of notes.metrics) {
    if (kind === "increment") metrics?.increment(name, labels, value);
    else if (kind === "set") metrics?.set(name, value, labels);
    else metrics?.observe(name, value, labels);
  }
  for (const { level, message, fields } of notes.lines) log[level](message, fields);
}
