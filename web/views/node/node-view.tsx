// The node: what it has, what is used of it, and what the agent did about that.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeDescription } from "../../../src/model/holding.ts";
import type { HistoryMoment } from "../../../src/ports/history.ts";
import { useAtMs, usePage, useRead, useStore } from "../../hooks.ts";
import { ReadProblem } from "../../parts/read-problem.tsx";
import { NodeCharts } from "./node-charts.tsx";
import { NodeConditions } from "./node-conditions.tsx";
import { NodeEvents } from "./node-events.tsx";
import { NodeGarbage, NodeImages } from "./node-images.tsx";
import { NodeResources } from "./node-resources.tsx";

const spans = [
  { text: "5 min", ms: 5 * 60_000 },
  { text: "1 h", ms: 3_600_000 },
  { text: "6 h", ms: 6 * 3_600_000 },
  { text: "24 h", ms: 24 * 3_600_000 },
] as const;

export function NodeView(): JSX.Element {
  const atMs = useAtMs();
  const info = useStore(usePage().info);
  const [spanMs, setSpanMs] = useState<number>(spans[1].ms);
  const { value, failure } = useRead<NodeDescription>("/berth/v1/node", { periodMs: 5_000 });
  const { value: past } = useRead<HistoryMoment>(
    atMs === undefined ? undefined : `/berth/v1/history/at?time=${atMs}`,
  );
  return (
    <section aria-labelledby="node-title">
      <div class="title-row">
        <h1 id="node-title">{info?.nodeName ?? "Node"}</h1>
        <SpanChoice spanMs={spanMs} onChange={setSpanMs} />
      </div>
      <ReadProblem failure={failure} />
      {past?.isKnown === false && (
        <p class="note warn">
          Nothing is kept of this time: the agent did not run, or it is longer ago than history
          lasts.
        </p>
      )}
      <NodeCharts spanMs={spanMs} description={value} />
      <div class="panels">
        <Panel title="Conditions" id="conditions">
          <NodeConditions description={value} past={past} isPast={atMs !== undefined} />
        </Panel>
        <Panel title="Resources" id="resources">
          <NodeResources description={value} />
        </Panel>
        <Panel title="Evictions, collections and the agent" id="events">
          <NodeEvents />
        </Panel>
        {atMs === undefined && (
          <>
            <Panel title="Images" id="images">
              <NodeImages />
            </Panel>
            <Panel title="No longer needed" id="garbage">
              <NodeGarbage />
            </Panel>
          </>
        )}
      </div>
    </section>
  );
}

function SpanChoice({
  spanMs,
  onChange,
}: {
  readonly spanMs: number;
  readonly onChange: (ms: number) => void;
}): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="unseen">Time that the charts show</legend>
      {spans.map(({ text, ms }) => (
        <button
          key={ms}
          type="button"
          class="button toggle"
          aria-pressed={ms === spanMs}
          onClick={() => onChange(ms)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}

function Panel({
  title,
  id,
  children,
}: {
  readonly title: string;
  readonly id: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`panel panel-${id}`} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}
