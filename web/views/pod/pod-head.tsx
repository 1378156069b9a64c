import type { JSX } from "preact";
import { formatAge } from "../../../src/lib/duration.ts";
import { podRow } from "../../../src/model/pod-row.ts";
import type { PodExplanation } from "../../../src/ports/agent-view.ts";
import type { StatusEntry } from "../../../src/ports/history.ts";
import { useAtMs, useNowMs, useRead } from "../../hooks.ts";
import { dateText } from "../../model/time-ticks.ts";
import { StatusBadge } from "../../parts/status-badge.tsx";
import type { Subject } from "./use-subject.ts";

/** What the pod is, how it stands, and what the agent waits for. */
export function PodHead({
  namespace,
  name,
  subject,
}: {
  readonly namespace: string;
  readonly name: string;
  readonly subject: Subject;
}): JSX.Element {
  const { live, status, goneMs, isKnown } = subject;
  const atMs = useAtMs();
  const nowMs = useNowMs();
  const path = live && `/berth/v1/pods/${live.metadata.uid}/explanation`;
  const { value } = useRead<PodExplanation>(path, { version: live, periodMs: 5_000 });
  const row = live === undefined ? undefined : podRow(live, nowMs);
  return (
    <>
      <div class="pod-head">
        <h1 id="pod-title">
          <span class="muted">{namespace}/</span>
          {name}
        </h1>
        {row !== undefined && <StatusBadge status={row.status} />}
        {row === undefined && status !== undefined && <StatusBadge status={status.status} />}
      </div>
      {row !== undefined && live !== undefined && (
        <Facts
          facts={[
            ["Ready", row.ready],
            ["Restarts", row.restarts],
            ["Age", row.age],
            ["Address", row.ip],
            ["Worker", value?.workerState ?? ""],
            ["UID", live.metadata.uid],
          ]}
        />
      )}
      {row === undefined && status !== undefined && <Facts facts={pastFacts(status)} />}
      {goneMs !== undefined && (
        <p class="muted">
          It is gone since {dateText(goneMs)}, {formatAge(nowMs - goneMs)} ago. This is how it was
          last seen.
        </p>
      )}
      {isKnown && live === undefined && status === undefined && (
        <p class="muted">
          {atMs === undefined
            ? "There is no such pod on this node, and history knows of none."
            : `History has no such pod at ${dateText(atMs)}.`}
        </p>
      )}
      {live?.status?.message !== undefined && <p class="pod-message">{live.status.message}</p>}
      <Awaiting awaiting={value?.awaiting ?? []} nowMs={nowMs} />
    </>
  );
}

function pastFacts({ ready, restarts, phase, ip }: StatusEntry): readonly [string, string][] {
  return [
    ["Ready", ready],
    ["Restarts", String(restarts)],
    ["Phase", phase],
    ["Address", ip ?? ""],
  ];
}

function Facts({ facts }: { readonly facts: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts
        .filter(([, text]) => text !== "")
        .map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}

function Awaiting({
  awaiting,
  nowMs,
}: {
  readonly awaiting: PodExplanation["awaiting"];
  readonly nowMs: number;
}): JSX.Element | null {
  if (awaiting.length === 0) return null;
  return (
    <ul class="awaited" aria-label="Awaited">
      {awaiting.map(({ what, untilMs }) => (
        <li key={what}>
          Waits for {what}
          {untilMs !== undefined && untilMs > nowMs && (
            <span class="muted"> (at most {formatAge(untilMs - nowMs)} more)</span>
          )}
        </li>
      ))}
    </ul>
  );
}
