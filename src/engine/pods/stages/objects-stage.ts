import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { PodStage } from "../pod-stage.ts";

/** What pods refer to. */
export interface PodObjects {
  /** Brings what the pod refers to up to date, as far as that is possible in a short time. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The pod has ended and refers to nothing any more. */
  release(uid: PodUid): void;
}

/** Objects that lie beside the pods in the sources are there at once. */
export const noObjects: PodObjects = {
  prepare: () => Promise.resolve(),
  release: () => undefined,
};

/** The config maps, secrets and tokens that a pod refers to. */
export function objectsStage(objects: PodObjects): PodStage {
  return {
    name: "objects",
    prepare: ({ pod }, signal) => objects.prepare(pod, signal),
    release: async ({ metadata }) => objects.release(metadata.uid),
    remove: async (uid) => objects.release(uid),
  };
}
