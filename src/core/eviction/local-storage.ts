import { type Pod, podContainers } from "../../model/pod.ts";
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  mustParseQuantity,
  quantityValue,
} from "../../model/quantity.ts";
import type { PodStats } from "../../model/stats-summary.ts";
import { podLimits } from "../resource/pod-resources.ts";
import { immediateGraceSeconds, type PodEviction } from "./pod-eviction.ts";
import { diskBytes } from "./pod-usage.ts";
import type { StatsOfPod } from "./rank-pods.ts";
import type { FsLayout } from "./threshold.ts";

/** Whether what the pod has on disk is limited at all. */
export function hasDiskLimits(pod: Pod): boolean {
  const { volumes = [] } = pod.spec;
  return (
    volumes.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    podContainers(pod).some(
      ({ container }) => container.resources?.limits?.["ephemeral-storage"] !== undefined,
    ) ||
    podLimits(pod).get("ephemeral-storage") !== undefined
  );
}

/** The pods that have to go because they use more disk than they may. */
export function planLocalStorageEvictions(
  pods: readonly Pod[],
  statsOf: StatsOfPod,
  layout: Pick<FsLayout, "dedicatedImageFs">,
): PodEviction[] {
  return pods.flatMap((pod) => {
    const stats = statsOf(pod);
    if (stats === undefined) return [];
    const excess =
      emptyDirExcess(pod, stats) ?? podExcess(pod, stats) ?? containerExcess(pod, stats, layout);
    if (excess === undefined) return [];
    return [
      {
        pod,
        graceSeconds: immediateGraceSeconds,
        annotations: {},
        isDisruption: false,
        ...excess,
      },
    ];
  });
}

type Excess = Pick<PodEviction, "signal" | "message">;

function emptyDirExcess(pod: Pod, { volumeStats = [] }: PodStats): Excess | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const stats = volumeStats.findLast((volume) => volume.name === name);
    if (emptyDir?.sizeLimit === undefined || stats?.usedBytes === undefined) continue;
    const limit = mustParseQuantity(emptyDir.sizeLimit);
    if (limit.unscaled <= 0n || compareQuantity(diskBytes(stats), limit) <= 0) continue;
    const text = formatQuantity(limit);
    return {
      signal: "emptydirfs.limit",
      message: `Usage of EmptyDir volume "${name}" exceeds the limit "${text}". `,
    };
  }
  return undefined;
}

function podExcess(pod: Pod, stats: PodStats): Excess | undefined {
  const limit = podLimits(pod).get("ephemeral-storage");
  if (limit === undefined || compareQuantity(diskBytes(stats.ephemeralStorage), limit) <= 0) {
    return undefined;
  }
  const text = formatQuantity(limit);
  return {
    signal: "ephemeralpodfs.limit",
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${text}. `,
  };
}

function containerExcess(
  pod: Pod,
  stats: PodStats,
  { dedicatedImageFs }: Pick<FsLayout, "dedicatedImageFs">,
): Excess | undefined {
  for (const { name, logs, rootfs } of stats.containers) {
    const container = pod.spec.containers.findLast((other) => other.name === name);
    const text = container?.resources?.limits?.["ephemeral-storage"];
    if (text === undefined) continue;
    const limit = mustParseQuantity(text);
    if (quantityValue(limit) === 0n) continue;
    // With images on another filesystem the writable layer is there too and does not fill the node's.
    const used = dedicatedImageFs
      ? diskBytes(logs)
      : addQuantity(diskBytes(logs), diskBytes(rootfs));
    if (compareQuantity(limit, used) >= 0) continue;
    return {
      signal: "ephemeralcontainerfs.limit",
      message: `Container ${name} exceeded its local ephemeral storage limit "${formatQuantity(limit)}". `,
    };
  }
  return undefined;
}
