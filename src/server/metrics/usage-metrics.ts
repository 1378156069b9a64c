import type { Summary, VolumeStats } from "../../model/stats-summary.ts";
import { formatMetrics, labelText, type MetricFamily } from "./metric-text.ts";

/** What /metrics shows of logs and claims. */
export function formatUsageMetrics({ pods }: Summary): string {
  const logs: MetricFamily = {
    name: "kubelet_container_log_filesystem_used_bytes",
    help: "[ALPHA] Bytes used by the container's logs on the filesystem.",
    type: "gauge",
    samples: pods.flatMap(({ podRef, containers }) =>
      containers.flatMap(({ name, logs: { usedBytes } = {} }) => {
        if (usedBytes === undefined) return [];
        const { uid, namespace, name: pod } = podRef;
        return [{ labels: labelText({ uid, namespace, pod, container: name }), value: usedBytes }];
      }),
    ),
  };
  const claims = claimedVolumes(pods.flatMap(({ volumeStats = [] }) => volumeStats));
  return formatMetrics([
    logs,
    ...volumeFamilies.map(({ name, help, read }) => ({
      name: `kubelet_volume_stats_${name}`,
      help: `[ALPHA] ${help}`,
      type: "gauge" as const,
      samples: claims.flatMap(({ labels, stats }) => {
        const value = read(stats);
        return value === undefined ? [] : [{ labels, value }];
      }),
    })),
  ]);
}

interface ClaimedVolume {
  readonly labels: string;
  readonly stats: VolumeStats;
}

/** Several pods may share a claim, which is shown once. */
function claimedVolumes(volumes: readonly VolumeStats[]): readonly ClaimedVolume[] {
  const claims = new Map<string, ClaimedVolume>();
  for (const stats of volumes) {
    if (stats.pvcRef === undefined) continue;
    const { name, namespace } = stats.pvcRef;
    const key = `${namespace}/${name}`;
    if (claims.has(key)) continue;
    claims.set(key, { labels: labelText({ namespace, persistentvolumeclaim: name }), stats });
  }
  return [...claims.values()];
}

const volumeFamilies: readonly {
  readonly name: string;
  readonly help: string;
  readonly read: (stats: VolumeStats) => number | undefined;
}[] = [
  {
    name: "capacity_bytes",
    help: "Capacity in bytes of the volume",
    read: ({ capacityBytes }) => capacityBytes,
  },
  {
    name: "available_bytes",
    help: "Number of available bytes in the volume",
    read: ({ availableBytes }) => availableBytes,
  },
  {
    name: "used_bytes",
    help: "Number of used bytes in the volume",
    read: ({ usedBytes }) => usedBytes,
  },
  {
    name: "inodes",
    help: "Maximum number of inodes in the volume",
    read: ({ inodes }) => inodes,
  },
  {
    name: "inodes_free",
    help: "Number of free inodes in the volume",
    read: ({ inodesFree }) => inodesFree,
  },
  {
    name: "inodes_used",
    help: "Number of used inodes in the volume",
    read: ({ inodesUsed }) => inodesUsed,
  },
  {
    name: "health_status_abnormal",
    help: "Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy",
    read: ({ volumeHealthStats }) =>
      volumeHealthStats === undefined ? undefined : Number(volumeHealthStats.abnormal),
  },
];
