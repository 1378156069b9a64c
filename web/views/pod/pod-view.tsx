import type { JSX } from "preact";
import { podRow } from "../../../src/model/pod-row.ts";
import type { PodExplanation } from "../../../src/ports/agent-view.ts";
import { useLivePod, useNowMs, useRead } from "../../hooks.ts";
import { StatusBadge } from "../../parts/status-badge.tsx";
import type { PodTab } from "../../routes.ts";

/** One pod: its state and what is awaited, and more about it below `tab`. */
export function PodView({
  namespace,
  name,
  tab,
}: {
  readonly namespace: string;
  readonly name: string;
  readonly tab: PodTab;
}): JSX.Element {
  const pod = useLivePod(namespace, name);
  const nowMs = useNowMs();
  const path = pod && `/berth/v1/pods/${pod.metadata.uid}/explanation`;
  const { value } = useRead<PodExplanation>(path, { version: pod });
  const row = pod && podRow(pod, nowMs);
  return (
    <section aria-labelledby="pod-title" data-tab={tab}>
      <h1 id="pod-title">
        <span class="muted">{namespace}/</span>
        {name}
      </h1>
      {row === undefined ? (
        <p class="muted">There is no such pod on this node.</p>
      ) : (
        <p>
          <StatusBadge status={row.status} /> {row.ready} ready, {row.restarts} restarts, age{" "}
          {row.age}, {row.ip}
        </p>
      )}
      <ul aria-label="Awaited">
        {value?.awaiting.map(({ what }) => (
          <li key={what}>{what}</li>
        ))}
      </ul>
    </section>
  );
}
