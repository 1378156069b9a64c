import { errorText } from "../../../lib/error-text.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { ActuatedRecord } from "../../execute/resize-pod.ts";
import type { NodePodCgroups } from "../../resources/pod-cgroups.ts";
import type { PodStage } from "../pod-stage.ts";
import { PodSyncError } from "../pod-syncer.ts";
import { noteNewCgroup } from "../sync-pod.ts";

export interface CgroupStageDeps {
  readonly cgroups: Pick<NodePodCgroups, "exists" | "ensure" | "remove" | "removeByUid" | "list">;
  readonly actuated: ActuatedRecord;
  readonly events: PodEvents;
}

/** The cgroup that limits all containers of a pod together. */
export function cgroupStage({ cgroups, actuated, events }: CgroupStageDeps): PodStage {
  return {
    name: "cgroup",
    prepare: async ({ pod, observed }) => {
      // While no container runs, the cgroup follows the pod: an edit then is not a resize that a plan would carry out.
      const isRunning = observed.containers.some(({ state }) => state === "running");
      if (isRunning && cgroups.exists(pod)) return;
      try {
        await cgroups.ensure(pod);
      } catch (error) {
        const message = `unable to ensure pod container exists: ${errorText(error)}`;
        events.record(pod, { type: "Warning", reason: "FailedCreatePodContainer", message });
        throw new PodSyncError(message, undefined, { cause: error });
      }
      noteNewCgroup({ actuated }, pod);
    },
    release: (pod) => cgroups.remove(pod),
    remove: (uid) => cgroups.removeByUid(uid),
    listFound: async () => cgroups.list(),
  };
}
