import type { DeviceAdmission } from "../../devices/device-admission.ts";
import type { NodeManagers } from "../../devices/node-managers.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";

export interface DevicesStageDeps {
  readonly deviceAdmission: Pick<DeviceAdmission, "complete">;
  readonly managers: Pick<NodeManagers, "release">;
}

/**
 * What a pod's containers have for themselves, but for claims. It was handed out when the pod was admitted; of a pod that came back
 * the end of its former life may have taken it back since. All is given back when its containers have ended.
 */
export function devicesStage({ deviceAdmission, managers }: DevicesStageDeps): PodStage {
  return {
    name: "devices",
    prepare: async ({ pod, observed }) => {
      // One that runs keeps what it has.
      if (observed.sandboxes.some(({ state }) => state === "ready")) return;
      const failure = await deviceAdmission.complete(pod);
      if (failure !== undefined) throw new PodSyncError(failure.message);
    },
    release: (pod) => managers.release(pod.metadata.uid),
    remove: (uid) => managers.release(uid),
  };
}
