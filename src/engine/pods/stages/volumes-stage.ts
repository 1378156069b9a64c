import type { Result } from "../../../lib/result.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";

export interface PodVolumes {
  /** Sets up what is missing; an error says which volume is not ready and why. */
  mount(pod: Pod, signal: AbortSignal): Promise<Result<void, string>>;
  /** Also the volumes that a past agent mounted. */
  unmount(uid: PodUid, signal: AbortSignal): Promise<void>;
}

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
