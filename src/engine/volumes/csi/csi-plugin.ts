import { requiresRepublish } from "../../../core/storage/csi/csi-driver-rules.ts";
import { csiMountPath } from "../../../core/storage/csi/csi-paths.ts";
import { csiDriverName, csiPluginName } from "../../../core/storage/csi/csi-volume.ts";
import { reconstructCsiVolume } from "../../../core/storage/csi/volume-data.ts";
import type { StoragePlugin } from "../storage-plugin.ts";
import { csiBlock } from "./csi-block.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { csiDevices } from "./csi-device.ts";
import { expandCsi } from "./csi-expand.ts";
import { setUpCsi, tearDownCsi } from "./csi-mount.ts";
import { csiStats } from "./csi-stats.ts";
import { isTakenDown, openVolumeData } from "./csi-volume-files.ts";

/** Volumes of CSI drivers. */
export function csiPlugin(deps: CsiPluginDeps): StoragePlugin {
  return {
    name: csiPluginName,
    requiresRemount: (spec) => {
      const driver = deps.objects.csiDriver(csiDriverName(spec) ?? "");
      return driver.ok && requiresRepublish(driver.value);
    },
    device: csiDevices(deps),
    block: csiBlock(deps),
    setUp: (request, signal) => setUpCsi(deps, request, signal),
    tearDown: (target, signal) => tearDownCsi(deps, target, signal),
    expand: (request, signal) => expandCsi(deps, request, signal),
    stats: (request, signal) => csiStats(deps, request, signal),
    isTakenDown: ({ podUid, volumeSpecName: name }) =>
      isTakenDown(deps, csiMountPath(deps.names.rootFolder, podUid, name)),
    reconstruct: async ({ path }) => reconstructCsiVolume(path, await openVolumeData(deps, path)),
  };
}
