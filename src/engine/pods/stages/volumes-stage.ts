import type { VolumeManager } from "../../volumes/volume-manager.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";

export type PodVolumes = Pick<VolumeManager, "mount" | "unmount">;

export function volumesStage(volumes: PodVolumes): PodStage {
  return {
    name: "volumes",
    prepare: async ({ pod }, signal) => {
      const mounted = await volumes.mount(pod, signal);
      if (mounted.ok) return;
      throw new PodSyncError(`unable to attach or mount volumes: ${mounted.error}`);
    },
    release: ({ metadata }, signal) => volumes.unmount(metadata.uid, signal),
    remove: (uid, signal) => volumes.unmount(uid, signal),
  };
}
