import { csiGlobalMapPath, csiMountPath } from "../../../core/storage/csi/csi-paths.ts";
import { isMigrated } from "../../../core/storage/csi/csi-source.ts";
import { csiDriverName } from "../../../core/storage/csi/csi-volume.ts";
import { type VolumeSpec, volumeSpecName } from "../../../core/storage/volume-spec.ts";
import { joinPath } from "../../../lib/path.ts";
import { err, ok } from "../../../lib/result.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  VolumeUsage_Unit as Unit,
  type VolumeUsage,
} from "../../../model/generated/csi.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { StatsRequest, StorageResult, VolumeStats } from "../storage-plugin.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { volumeHandleOf } from "./csi-mount.ts";

/** What the driver says that the volume takes. */
export async function csiStats(
  deps: CsiPluginDeps,
  { spec, podUid }: StatsRequest,
  signal: AbortSignal,
): StorageResult<VolumeStats> {
  const driverName = csiDriverName(spec) ?? "";
  const client = deps.clients.open(driverName, isMigrated(spec));
  if (!client.ok) return err({ kind: "transient", message: client.error });
  const measures = await client.value.supports(Capability.GET_VOLUME_STATS, signal);
  if (!measures.ok) return measures;
  if (!measures.value) {
    const message = `metrics are not supported for ${driverName} volumes`;
    return err({ kind: "metricsNotSupported", message });
  }
  const handle = volumeHandleOf(deps, spec, podUid);
  const path = measuredPath(deps.names.rootFolder, spec, podUid);
  const answer = await client.value.volumeStats(handle, path, signal);
  // Nothing was changed by the call, whatever became of it.
  if (!answer.ok) return err({ kind: "final", message: answer.error.message });
  const { usage = [], volumeCondition } = answer.value;
  if (usage.length > 0) {
    const { abnormal = false, message = "" } = volumeCondition ?? {};
    const condition = volumeCondition && { abnormal, message };
    return ok({ ...usage.reduce(withUsage, noUsage), condition });
  }
  return err({ kind: "final", message: "failed to get usage from response. usage is nil" });
}

function measuredPath(root: string, spec: VolumeSpec, podUid: PodUid): string {
  const name = volumeSpecName(spec);
  const isBlock =
    spec.source === "persistentVolume" && spec.persistentVolume.spec?.volumeMode === "Block";
  if (isBlock) return joinPath(csiGlobalMapPath(root, name), podUid);
  return csiMountPath(root, podUid, name);
}

const noUsage: VolumeStats = {
  availableBytes: 0n,
  capacityBytes: 0n,
  usedBytes: 0n,
  inodesFree: 0n,
  inodes: 0n,
  inodesUsed: 0n,
};

/** The last usage of a unit counts. */
function withUsage(
  stats: VolumeStats,
  { unit, available = 0n, total = 0n, used = 0n }: VolumeUsage,
): VolumeStats {
  switch (unit) {
    case Unit.BYTES:
      return { ...stats, availableBytes: available, capacityBytes: total, usedBytes: used };
    case Unit.INODES:
      return { ...stats, inodesFree: available, inodes: total, inodesUsed: used };
    default:
      return stats;
  }
}
