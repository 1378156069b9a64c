import { fcKind } from "../../../src/core/storage/kinds/storage-kinds.ts";
import { fcPlugin } from "../../../src/engine/volumes/fc/fc-plugin.ts";
import {
  type DiskVolumeInput,
  diskMapPath,
  diskVolumeDeps,
  runDiskSteps,
} from "../disk-volumes.ts";
import { StoragePluginWorld, withoutFailedVolumes } from "../storage-plugin-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

export const volumeFc: VectorDomain = vectorDomain<DiskVolumeInput>(
  "volume-fc",
  (input) => {
    const world = new StoragePluginWorld(input);
    const plugin = fcPlugin(diskVolumeDeps(world));
    return runDiskSteps(world, plugin, input, async () => diskMapPath(fcKind, world.spec));
  },
  withoutFailedVolumes,
);
