import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { sizeText } from "../../../src/lib/size-text.ts";
import type { NodeDescription } from "../../../src/model/holding.ts";
import type { Summary } from "../../../src/model/stats-summary.ts";
import { useAtMs, useNowMs, usePage, useRead, useStore } from "../../hooks.ts";
import { amountOf } from "../../lib/amount.ts";
import { mergeUsage, seriesOf, type Usage, usageOf } from "../../lib/node-samples.ts";
import { useEntries } from "../../lib/use-entries.ts";
import { Chart } from "../../parts/chart.tsx";

const statsPeriodMs = 5_000;
const historyPeriodMs = 60_000;
/** As many as five minutes have: older ones are in history, one for each minute. */
const maxLive = 60;

/** What is used, over the last `spanMs` before the chosen time. */
export function NodeCharts({
  spanMs,
  description,
}: {
  readonly spanMs: number;
  readonly description: NodeDescription | undefined;
}): JSX.Element {
  const atMs = useAtMs();
  const nowMs = useNowMs(statsPeriodMs);
  const untilMs = atMs ?? nowMs;
  const fromMs = untilMs - spanMs;
  // Rounded, so that what was read holds for a while.
  const sinceMs = Math.floor(fromMs / historyPeriodMs) * historyPeriodMs;
  const bound = atMs === undefined ? "" : `&until=${atMs}`;
  const { items } = useEntries(`kinds=node&since=${sinceMs}${bound}`);
  const live = useLiveUsage();
  const usage = useMemo(
    () => mergeUsage(items, live).filter((one) => one.atMs >= fromMs && one.atMs <= untilMs),
    [items, live, fromMs, untilMs],
  );
  const capacity = description?.node.status?.capacity ?? {};
  const cores = amountOf(capacity["cpu"]);
  const memoryBytes = amountOf(capacity["memory"]);
  const diskBytes = usage.at(-1)?.diskCapacityBytes ?? amountOf(capacity["ephemeral-storage"]);
  const maxPods = amountOf(capacity["pods"]);
  const shared = { fromMs, untilMs };
  return (
    <div class="charts">
      <Chart
        {...shared}
        title="Processor"
        series={[seriesOf("used", usage, ({ cpuCores }) => cpuCores)]}
        max={cores}
        format={coresText}
        note={cores === undefined ? undefined : `of ${cores} cores`}
      />
      <Chart
        {...shared}
        title="Memory"
        series={[seriesOf("used", usage, (one) => one.memoryBytes)]}
        max={memoryBytes}
        format={sizeText}
        note={memoryBytes === undefined ? undefined : `of ${sizeText(memoryBytes)}`}
      />
      <Chart
        {...shared}
        title="Disk"
        series={[seriesOf("used", usage, ({ diskUsedBytes }) => diskUsedBytes)]}
        max={diskBytes}
        format={sizeText}
        note={diskBytes === undefined ? undefined : `of ${sizeText(diskBytes)}`}
      />
      <Chart
        {...shared}
        title="Pods"
        series={[seriesOf("pods", usage, ({ pods }) => pods)]}
        format={(value) => `${Math.round(value)}`}
        note={maxPods === undefined ? undefined : `of ${maxPods}`}
      />
      <PressureChart {...shared} usage={usage} />
    </div>
  );
}

function PressureChart({
  usage,
  ...span
}: {
  readonly usage: readonly Usage[];
  readonly fromMs: number;
  readonly untilMs: number;
}): JSX.Element {
  return (
    <Chart
      {...span}
      title="Pressure"
      series={[
        seriesOf("cpu", usage, ({ waiting }) => waiting?.processor),
        seriesOf("memory", usage, ({ waiting }) => waiting?.memory),
        seriesOf("disk", usage, ({ waiting }) => waiting?.disk),
      ]}
      max={pressureMax(usage)}
      format={(value) => `${value.toFixed(1)} %`}
    />
  );
}

/** What this page has read itself, the newest last; it stays while other views are shown. */
function useLiveUsage(): readonly Usage[] {
  const { pods, usage } = usePage();
  const isLive = useAtMs() === undefined;
  const { value } = useRead<Summary>(isLive ? "/berth/v1/stats" : undefined, {
    periodMs: statsPeriodMs,
  });
  useEffect(() => {
    const newest = value && usageOf(value, pods.value.byUid.size);
    if (newest === undefined || usage.value.at(-1)?.atMs === newest.atMs) return;
    usage.set([...usage.value, newest].slice(-maxLive));
  }, [value, pods, usage]);
  return useStore(usage);
}

function coresText(cores: number): string {
  return cores < 10 ? cores.toFixed(2) : cores.toFixed(1);
}

/** Small pressures are seen as small: the scale ends at ten percent at least. */
function pressureMax(usage: readonly Usage[]): number {
  const values = usage.flatMap(({ waiting }) => Object.values(waiting ?? {}));
  return Math.max(10, ...values.map((value) => (value ?? 0) * 1.15));
}
