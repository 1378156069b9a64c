import type { JSX } from "preact";
import type { HistoryEntry } from "../../../src/ports/history.ts";
import { useAtMs, usePage, useRead } from "../../hooks.ts";
import { timeText } from "../../lib/time-text.ts";
import { ReadProblem } from "../../parts/read-problem.tsx";
import { hrefOf } from "../../routes.ts";

const periodMs = 15_000;
const shown = 40;
/** Events of pods that are of the node: what it ended to help itself. */
const ofNode = /^(Evicted|Preempting|Preempted|OOMKilling|SystemOOM|NodeShutdown)/;

interface Line {
  readonly atMs: number;
  readonly isWarning: boolean;
  readonly what: string;
  readonly text: string;
  readonly pod?: string | undefined;
}

/** What the node and the agent did, the newest first. */
export function NodeEvents(): JSX.Element {
  const page = usePage();
  const atMs = useAtMs();
  const bound = atMs === undefined ? "" : `&until=${atMs}`;
  const read = (kinds: string, limit: number): string =>
    `/berth/v1/history/entries?kinds=${kinds}&limit=${limit}${bound}`;
  const options = { periodMs: atMs === undefined ? periodMs : undefined };
  const node = useRead<{ readonly items: readonly HistoryEntry[] }>(
    read("node-event,agent", shown),
    options,
  );
  const pods = useRead<{ readonly items: readonly HistoryEntry[] }>(read("event", 300), options);
  const lines = [...(node.value?.items ?? []), ...(pods.value?.items ?? [])]
    .flatMap(lineOf)
    .toSorted((a, b) => b.atMs - a.atMs)
    .slice(0, shown);
  if (node.value !== undefined && lines.length === 0) return <p class="muted">Nothing is kept.</p>;
  return (
    <>
      <ReadProblem failure={node.failure} />
      <ol class="events">
        {lines.map(({ atMs, isWarning, what, text, pod }) => (
          <li key={`${atMs}${what}${text}`}>
            <time dateTime={new Date(atMs).toISOString()} class="muted">
              {timeText(atMs)}
            </time>
            <span>
              <span class={isWarning ? "badge bad" : "badge idle"}>{what}</span> {text}{" "}
              {pod !== undefined && (
                <a href={hrefOf({ route: podRoute(pod), atMs: page.place.value.atMs })}>{pod}</a>
              )}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function lineOf(entry: HistoryEntry): Line[] {
  const { atMs } = entry;
  switch (entry.kind) {
    case "node-event": {
      const { reason, message, type } = entry;
      return [{ atMs, isWarning: type === "Warning", what: reason, text: message }];
    }
    case "agent": {
      const { what, version = "", lost = 0 } = entry;
      const text = what === "lost" ? `${lost} entries of history` : `the agent ${version}`;
      return [{ atMs, isWarning: what === "lost", what: agentWords[what], text }];
    }
    case "event": {
      const { reason, message, pod, type } = entry;
      if (!ofNode.test(reason)) return [];
      return [{ atMs, isWarning: type === "Warning", what: reason, text: message, pod }];
    }
    default:
      return [];
  }
}

const agentWords = { started: "Started", stopped: "Stopped", lost: "Lost" } as const;

function podRoute(pod: string): {
  readonly view: "pod";
  readonly namespace: string;
  readonly name: string;
  readonly tab: "timeline";
} {
  const [namespace = "", name = ""] = pod.split("/");
  return { view: "pod", namespace, name, tab: "timeline" };
}
