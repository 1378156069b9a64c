import { podVolumeStats, type VolumeMetrics } from "../../../src/core/stats/volume-stats.ts";
import { compareText } from "../../../src/lib/compare-text.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { mustParseQuantity, quantityValue } from "../../../src/model/quantity.ts";
import type { PodStats, VolumeStats } from "../../../src/model/stats-summary.ts";
import { formatUsageMetrics } from "../../../src/server/metrics/usage-metrics.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface EncodedMetrics {
  readonly available?: string;
  readonly capacity?: string;
  readonly used?: string;
  readonly inodes?: string;
  readonly inodesFree?: string;
  readonly inodesUsed?: string;
  readonly abnormal?: boolean;
  readonly error?: string;
  readonly notSupported?: boolean;
  readonly block?: boolean;
  readonly blockWithoutMetrics?: boolean;
}

interface Input {
  readonly pods: readonly {
    readonly pod: Pod;
    readonly volumeMetrics?: Readonly<Record<string, EncodedMetrics>>;
  }[];
}

export const volumeStatsMetrics: VectorDomain = vectorDomain<Input>(
  "volume-stats-metrics",
  ({ pods }) => {
    const stats = pods.map(({ pod, volumeMetrics = {} }) => ({
      pod,
      found: Object.keys(volumeMetrics).length > 0,
      ...podVolumeStats(pod, knownMetrics(volumeMetrics)),
    }));
    const summary = stats.map(
      ({ pod, ephemeral, others }): PodStats => ({
        podRef: pod.metadata,
        startTimeMs: 0,
        containers: [],
        volumeStats: [...ephemeral, ...others],
      }),
    );
    const page = formatUsageMetrics({
      node: { nodeName: "node", startTimeMs: 0 },
      pods: summary,
    });
    return {
      metrics: samplesOf(page),
      pods: stats.map(({ found, ephemeral, others }) => ({
        found,
        ephemeral: encodeVolumes(ephemeral),
        persistent: encodeVolumes(others),
      })),
    };
  },
);

/** A volume that fails to report metrics, or does not support them, is left out by the caller. */
function knownMetrics(
  volumes: Readonly<Record<string, EncodedMetrics>>,
): ReadonlyMap<string, VolumeMetrics> {
  return new Map(
    Object.entries(volumes)
      .filter(
        ([, { error, notSupported, block, blockWithoutMetrics }]) =>
          error === undefined &&
          notSupported !== true &&
          !(block === true && blockWithoutMetrics === true),
      )
      .map(([name, metrics]) => [name, decodeMetrics(metrics)]),
  );
}

function decodeMetrics(metrics: EncodedMetrics): VolumeMetrics {
  return {
    timeMs: 0,
    availableBytes: amount(metrics.available),
    capacityBytes: amount(metrics.capacity),
    usedBytes: amount(metrics.used),
    inodes: amount(metrics.inodes),
    inodesFree: amount(metrics.inodesFree),
    inodesUsed: amount(metrics.inodesUsed),
    abnormal: metrics.abnormal,
  };
}

function amount(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(quantityValue(mustParseQuantity(text)));
}

function encodeVolumes(volumes: readonly VolumeStats[]): unknown {
  return volumes
    .toSorted((a, b) => compareText(a.name, b.name))
    .map(({ timeMs, ...rest }) => ({ ...rest, time: timeMs === 0 ? null : timeMs }));
}

/** The samples of a page, sorted as the vectors are: by name, then by labels. */
function samplesOf(page: string): unknown {
  const helps = new Map<string, string>();
  const types = new Map<string, string>();
  const samples: { readonly line: string; readonly sample: object }[] = [];
  for (const line of page.split("\n")) {
    const [, word = "", about = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word !== "") (word === "HELP" ? helps : types).set(about, rest);
    const found = /^([a-z_]+)\{(.*)\} (\S+)$/.exec(line);
    if (found === null) continue;
    const [, name = "", labels = "", value = ""] = found;
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", text = ""]) => [
      key,
      text,
    ]);
    const sample = {
      name,
      help: helps.get(name),
      type: types.get(name)?.toUpperCase(),
      labels: Object.fromEntries(pairs),
      value: Number(value),
    };
    samples.push({ line: `${name} ${labels}`, sample });
  }
  return samples.toSorted((a, b) => compareText(a.line, b.line)).map(({ sample }) => sample);
}
