import type { PodResources } from "../../core/allocation/pod-allocation.ts";
import type { ResizeConditions } from "../../core/allocation/resize-conditions.ts";
import type { HeldToken } from "../../core/cluster/held-token.ts";
import type { PodReferences } from "../../core/cluster/pod-references.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodImages } from "../images/pod-images.ts";

/**
 * All the agent knows of one pod, in slices. A slice has one writer, named in its comment, which holds the slice's
 * `SliceWriter`; everybody may read. A slice is replaced, not changed, unless it is its writer's own running thing.
 * What is only here is gone with the pod's entry: nobody has to remember to forget it.
 */
export interface PodSlices {
  /** The resources that were applied to it in the runtime. Writer: `ResourceRecords` of `PodAllocations`. */
  readonly actuated: PodResources;
  /** The resources that it was granted. Writer: `ResourceRecords` of `PodAllocations`. */
  readonly allocated: PodResources;
  /** The folder of its logs, once it was prepared. Writer: the folders stage. */
  readonly logs: string;
  /** The images that it waits for. Writer: `ImageManager`. */
  readonly images: PodImages;
  /** The config maps and secrets that it refers to, from its first sync until it has ended. Writer: `ObjectUsers`. */
  readonly references: PodReferences;
  /** Where its resize stands. Writer: `ResizeStatuses`. */
  readonly resize: ResizeConditions;
  /** Its service account tokens, by request. Writer: `ApiServiceAccountTokens`. */
  readonly tokens: ReadonlyMap<string, HeldToken>;
  /** The pod as its source last had it; absent when no source wants it. Writer: `PodRegistry`. */
  readonly wanted: Pod;
}

export type SliceName = keyof PodSlices;

export type ManagedPod = { readonly uid: string } & {
  readonly [Name in SliceName]?: PodSlices[Name] | undefined;
};
