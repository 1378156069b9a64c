import type { Pod } from "../../model/pod.ts";

/**
 * All the agent knows of one pod, in slices. A slice has one writer, named in its comment, which holds the slice's
 * `SliceWriter`; everybody may read. A slice is replaced, not changed, unless it is its writer's own running thing.
 * What is only here is gone with the pod's entry: nobody has to remember to forget it.
 */
export interface PodSlices {
  /** The pod as its source last had it; absent when no source wants it. Writer: `PodRegistry`. */
  readonly wanted: Pod;
}

export type SliceName = keyof PodSlices;

export type ManagedPod = { readonly uid: string } & {
  readonly [Name in SliceName]?: PodSlices[Name] | undefined;
};
