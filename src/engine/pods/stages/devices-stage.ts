import type { PodEvents } from "../../../ports/pod-events.ts";
import type { ClaimResources } from "../../devices/claim-resources.ts";
import type { NodeManagers } from "../../devices/node-managers.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";

export interface DevicesStageDeps {
  readonly managers: Pick<NodeManagers, "release">;
  readonly claimResources: Pick<
    ClaimResources,
    "concerns" | "prepare" | "uses" | "unprepare" | "release"
  >;
  readonly events: PodEvents;
}

/**
 * What a pod's containers have for themselves. Most of it was handed out when the pod was admitted; claims are prepared before its
 * sandbox. All is given back when they have ended.
 */
export function devicesStage({ managers, claimResources, events }: DevicesStageDeps): PodStage {
  return {
    name: "devices",
    prepare: async ({ pod, observed }) => {
      if (!claimResources.concerns(pod)) return;
      // Its sandbox was made after they were prepared.
      if (
        observed.sandboxes.some(({ state }) => state === "ready") &&
        claimResources.uses(pod.metadata.uid)
      )
        return;
      const prepared = await claimResources.prepare(pod);
      if (prepared.ok) return;
      const message = `Failed to prepare dynamic resources: ${prepared.error}`;
      events.record(pod, { type: "Warning", reason: "FailedPrepareDynamicResources", message });
      throw new PodSyncError(prepared.error);
    },
    release: async (pod) => {
      const { uid } = pod.metadata;
      if (claimResources.uses(uid)) {
        const released = await claimResources.unprepare(pod);
        if (!released.ok) throw new Error(released.error);
      }
      await managers.release(uid);
    },
    remove: async (uid) => {
      const [failure] = await claimResources.release(uid);
      if (failure !== undefined) throw new Error(failure);
      await managers.release(uid);
    },
  };
}
