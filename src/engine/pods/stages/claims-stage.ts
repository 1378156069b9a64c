import type { Pod } from "../../../model/pod.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { ClaimResources } from "../../devices/claim-resources.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";

export interface ClaimsStageDeps {
  readonly claimResources: Pick<
    ClaimResources,
    "concerns" | "prepare" | "uses" | "unprepare" | "release"
  >;
  readonly events: PodEvents;
}

/** The ResourceClaims of a pod: their drivers prepare them before its sandbox, and take them back when its containers have ended. */
export function claimsStage({ claimResources, events }: ClaimsStageDeps): PodStage {
  const giveBack = async (pod: Pod): Promise<void> => {
    if (!claimResources.uses(pod.metadata.uid)) return;
    const released = await claimResources.unprepare(pod);
    if (!released.ok) throw new Error(released.error);
  };
  return {
    name: "claims",
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
    // Before the status says that the pod has ended: from then on the cluster gives the devices to other pods.
    stopped: giveBack,
    // Of a pod that ended in a past agent's life only this is called.
    release: giveBack,
    remove: async (uid) => {
      const [failure] = await claimResources.release(uid);
      if (failure !== undefined) throw new Error(failure);
    },
  };
}
