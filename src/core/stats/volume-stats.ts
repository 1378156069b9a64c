import { ephemeralClaimName } from "../../model/ephemeral-claims.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { FsStats, VolumeStats } from "../../model/stats-summary.ts";
import { isLocalEphemeralVolume } from "./disk-stats.ts";

/** What a volume reports of itself, or what was measured. */
export interface VolumeMetrics extends FsStats {
  /** Only where the driver watches the health of its volumes. */
  readonly abnormal?: boolean | undefined;
}

export interface PodVolumeStats {
  /** Those that count against the pod's ephemeral storage. */
  readonly ephemeral: readonly VolumeStats[];
  readonly others: readonly VolumeStats[];
}

/** The statistics of a pod's volumes from what is known of each, by name. */
export function podVolumeStats(
  pod: Pod,
  metrics: ReadonlyMap<string, VolumeMetrics>,
): PodVolumeStats {
  const ephemeral: VolumeStats[] = [];
  const others: VolumeStats[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const known = metrics.get(volume.name);
    if (known === undefined) continue;
    const stats = volumeStats(pod, volume, known);
    (isLocalEphemeralVolume(volume) ? ephemeral : others).push(stats);
  }
  return { ephemeral, others };
}

/** An amount that is not known is shown as zero, as the kubelet does for volumes. */
function volumeStats(pod: Pod, volume: Volume, metrics: VolumeMetrics): VolumeStats {
  const { abnormal } = metrics;
  return {
    name: volume.name,
    timeMs: metrics.timeMs,
    availableBytes: metrics.availableBytes ?? 0,
    capacityBytes: metrics.capacityBytes ?? 0,
    usedBytes: metrics.usedBytes ?? 0,
    inodesFree: metrics.inodesFree ?? 0,
    inodes: metrics.inodes ?? 0,
    inodesUsed: metrics.inodesUsed ?? 0,
    pvcRef: claimReference(pod, volume),
    volumeHealthStats: abnormal === undefined ? undefined : { abnormal },
  };
}

/** The claim behind a volume, if there is one. */
function claimReference({ metadata }: Pod, volume: Volume): VolumeStats["pvcRef"] {
  const { persistentVolumeClaim, ephemeral } = volume;
  const { name, namespace } = metadata;
  if (persistentVolumeClaim !== undefined) {
    return { name: persistentVolumeClaim.claimName, namespace };
  }
  if (ephemeral === undefined) return undefined;
  return { name: ephemeralClaimName(name, volume.name), namespace };
}
