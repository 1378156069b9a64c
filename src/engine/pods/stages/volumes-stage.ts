import type { Result } from "../../../lib/result.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { StorageManager } from "../../volumes/storage-manager.ts";
import { removeVolumeFolders, type TearDownDeps } from "../../volumes/tear-down.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodRejection, PodSyncError } from "../pod-syncer.ts";

export interface VolumesStageDeps extends TearDownDeps {
  readonly storage: Pick<StorageManager, "mount" | "unmount" | "release" | "remove">;
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
    // The pod is not gone as long as anything of its volumes may be mounted: the next pod of its name could share them.
    release: async ({ metadata }, signal) => {
      throwProblem(await storage.unmount(metadata.uid, signal));
      throwProblem(await storage.release(metadata.uid, signal));
    },
    remove: async (uid, signal) => {
      throwProblem(await storage.remove(uid, signal));
      await removeVolumeFolders(deps, uid, signal);
    },
  };
}

function throwProblem(unmounted: Result<void, string>): void {
  if (!unmounted.ok) throw new Error(unmounted.error);
}
