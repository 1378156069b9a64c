// All pods in a table, as they are or as they were.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { HistoryMoment } from "../../../src/ports/history.ts";
import { useAtMs, useNowMs, usePage, useRead, useStore } from "../../hooks.ts";
import {
  type Filter,
  filterLines,
  isProblem,
  lineOfMoment,
  lineOfPod,
  type Order,
  type PodLine,
  sortLines,
} from "../../lib/pod-lines.ts";
import { ReadProblem } from "../../parts/read-problem.tsx";
import { PodFilter } from "./pod-filter.tsx";
import { PodTable } from "./pod-table.tsx";

export function PodsView(): JSX.Element {
  const atMs = useAtMs();
  return atMs === undefined ? <LivePodsView /> : <PastPodsView atMs={atMs} />;
}

function LivePodsView(): JSX.Element {
  const page = usePage();
  const { byUid, isListed } = useStore(page.pods);
  const nowMs = useNowMs();
  const lines = [...byUid.values()].map((pod) => lineOfPod(pod, nowMs));
  return <PodLines lines={lines} isKnown={isListed} none={noPods} />;
}

function PastPodsView({ atMs }: { readonly atMs: number }): JSX.Element {
  const { value, failure } = useRead<HistoryMoment>(`/berth/v1/history/at?time=${atMs}`);
  const lines = useMemo(
    () => (value?.pods ?? []).map((pod) => lineOfMoment(pod, atMs)),
    [value, atMs],
  );
  const none =
    value?.isKnown === false
      ? "Nothing is kept of this time: the agent did not run, or it is longer ago than history lasts."
      : "There were no pods on this node.";
  return (
    <>
      <ReadProblem failure={failure} />
      <PodLines lines={lines} isKnown={value !== undefined} none={none} />
    </>
  );
}

const noPods = "There are no pods on this node yet. Put a manifest into the agent's folder.";
const everything: Filter = { search: "", namespace: "", onlyProblems: false };

function PodLines({
  lines,
  isKnown,
  none,
}: {
  readonly lines: readonly PodLine[];
  readonly isKnown: boolean;
  readonly none: string;
}): JSX.Element {
  const [filter, setFilter] = useState(everything);
  const [order, setOrder] = useState<Order>({ by: "namespace", isDescending: false });
  const shown = sortLines(filterLines(lines, filter), order);
  const namespaces = [...new Set(lines.map(({ namespace }) => namespace))].toSorted();
  return (
    <section aria-labelledby="pods-title">
      <div class="title-row">
        <h1 id="pods-title">Pods</h1>
        <PodFilter
          filter={filter}
          onChange={setFilter}
          namespaces={namespaces}
          problems={lines.filter(isProblem).length}
        />
      </div>
      <PodTable lines={shown} order={order} onOrder={setOrder} />
      <p class="table-note" role="status">
        {isKnown ? countText(shown.length, lines.length, none) : "Reading…"}
      </p>
    </section>
  );
}

function countText(shown: number, all: number, none: string): string {
  if (all === 0) return none;
  if (shown === 0) return "No pod matches.";
  const noun = all === 1 ? "pod" : "pods";
  return shown === all ? `${all} ${noun}` : `${shown} of ${all} ${noun}`;
}
