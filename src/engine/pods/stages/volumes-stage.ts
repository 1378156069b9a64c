import type { PodEvents } from "../../../ports/pod-events.ts";
import type { StorageManager } from "../../volumes/storage-manager.ts";
import { removeVolumeFolders, type TearDownDeps } from "../../volumes/tear-down.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodRejection, PodSyncError } from "../pod-syncer.ts";

export interface VolumesStageDeps extends TearDownDeps {
  readonly storage: Pick<StorageManager, "mount" | "unmount" | "remove">;
  readonly events: PodEvents;
}

export function volumesStage(deps: VolumesStageDeps): PodStage {
  const { storage, events } = deps;
  return {
    name: "volumes",
    prepare: async ({ pod }, signal) => {
      const mounted = await storage.mount(pod, signal);
      if (mounted.ok) return;
      const { message: problem, isLate, isAttachLimitExceeded } = mounted.error;
      if (isAttachLimitExceeded) throw new PodRejection("VolumeAttachmentLimitExceeded", problem);
      // What goes wrong with a single volume is reported where it does.
      const message = `Unable to attach or mount volumes: ${problem}`;
      if (!isLate) events.record(pod, { type: "Warning", reason: "FailedMount", message });
      throw new PodSyncError(`unable to attach or mount volumes: ${problem}`);
    },
    release: async ({ metadata }, signal) => {
      const unmounted = await storage.unmount(metadata.uid, signal);
      if (!unmounted.ok) throw new Error(unmounted.error);
    },
    remove: async (uid, signal) => {
      const unmounted = await storage.remove(uid, signal);
      if (!unmounted.ok) throw new Error(unmounted.error);
      await removeVolumeFolders(deps, uid, signal);
    },
  };
}
