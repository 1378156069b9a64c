import type { JSX } from "preact";
import { parseTime } from "../../../src/lib/time.ts";
import type { NodeDescription } from "../../../src/model/holding.ts";
import type { HistoryMoment } from "../../../src/ports/history.ts";
import { timeText } from "../../lib/time-text.ts";
import type { Tone } from "../../lib/tone.ts";
import { StatusBadge } from "../../parts/status-badge.tsx";

interface ConditionLine {
  readonly type: string;
  readonly status: string;
  readonly because: string;
  readonly since?: string | undefined;
}

const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"];

export function NodeConditions({
  description,
  past,
  isPast,
}: {
  readonly description: NodeDescription | undefined;
  readonly past: HistoryMoment | undefined;
  readonly isPast: boolean;
}): JSX.Element {
  const lines = isPast ? pastLines(past) : liveLines(description);
  if (lines.length === 0) return <p class="muted">Not known.</p>;
  return (
    <table class="table">
      <tbody>
        {lines.map(({ type, status, because, since }) => (
          <tr key={type}>
            <th scope="row">{type}</th>
            <td>
              <StatusBadge status={status} tone={toneOfCondition(type, status)} />
            </td>
            <td>
              {because}
              {since !== undefined && <span class="muted"> since {since}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function liveLines(description: NodeDescription | undefined): readonly ConditionLine[] {
  return (description?.conditions ?? []).map(({ type, status, message = "", ...rest }) => {
    const changedMs = parseTime(rest.lastTransitionTime ?? "");
    const since = changedMs === undefined ? undefined : timeText(changedMs);
    return { type, status, because: message, since };
  });
}

/** Of a past time the pressures are kept, and whether the agent ran. */
function pastLines(past: HistoryMoment | undefined): readonly ConditionLine[] {
  const { node } = past ?? {};
  if (node === undefined) return [];
  return pressures.map((type) => ({
    type,
    status: node.pressures.includes(type) ? "True" : "False",
    because: `as of ${timeText(node.atMs)}`,
  }));
}

/** To be ready is good; what else a node reports is trouble. */
function toneOfCondition(type: string, status: string): Tone {
  if (status === "Unknown") return "warn";
  return (status === "True") === (type === "Ready") ? "good" : "bad";
}
