import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import {
  addQuantity,
  isZeroQuantity,
  mustParseQuantity,
  type Quantity,
  wholeQuantity,
  zeroQuantity,
} from "../../model/quantity.ts";
import type { FsStats, MemoryStats, PodStats } from "../../model/stats-summary.ts";
import { hasPodLevelResources, podRequests } from "../resource/pod-resources.ts";

/** What of a pod lies on a filesystem. */
export type DiskPart = "layers" | "logs" | "volumes";

export type DiskResource = "ephemeral-storage" | "inodes";

export function memoryUsage(stats: MemoryStats | undefined): Quantity {
  return wholeQuantity(BigInt(stats?.workingSetBytes ?? 0), "BinarySI");
}

export function diskBytes(stats: FsStats | undefined): Quantity {
  return wholeQuantity(BigInt(stats?.usedBytes ?? 0), "BinarySI");
}

/** What the given parts of a pod take of a filesystem. */
export function podDiskUsage(
  pod: Pod,
  stats: PodStats | undefined,
  parts: readonly DiskPart[],
  resource: DiskResource,
): Quantity {
  const used = (fs: FsStats | undefined): number =>
    (resource === "inodes" ? fs?.inodesUsed : fs?.usedBytes) ?? 0;
  let total = 0;
  for (const { rootfs, logs } of stats?.containers ?? []) {
    if (parts.includes("layers")) total += used(rootfs);
    if (parts.includes("logs")) total += used(logs);
  }
  if (parts.includes("volumes")) {
    for (const { name } of (pod.spec.volumes ?? []).filter(isLocalVolume)) {
      total += used(stats?.volumeStats?.find((volume) => volume.name === name));
    }
  }
  return wholeQuantity(BigInt(total), resource === "inodes" ? "DecimalSI" : "BinarySI");
}

/** What a pod asks for of a resource: as a whole where it does so, else by its containers. */
export function requestedAmount(pod: Pod, resource: string): Quantity {
  const requests = podRequests(pod, {
    excludeContainers: hasPodLevelResources(pod),
    excludeOverhead: true,
  });
  const amount = requests.get(resource) ?? zeroQuantity;
  const overhead = pod.spec.overhead?.[resource];
  if (overhead === undefined || isZeroQuantity(amount)) return amount;
  return addQuantity(amount, mustParseQuantity(overhead));
}

function isLocalVolume(volume: Volume): boolean {
  return (
    volume.hostPath !== undefined ||
    volume.gitRepo !== undefined ||
    volume.configMap !== undefined ||
    (volume.emptyDir !== undefined && (volume.emptyDir.medium ?? "") === "")
  );
}
