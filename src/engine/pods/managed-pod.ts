import type { PodResources } from "../../core/allocation/pod-allocation.ts";
import type { ResizeConditions } from "../../core/allocation/resize-conditions.ts";
import type { HeldToken } from "../../core/cluster/held-token.ts";
import type { PodReferences } from "../../core/cluster/pod-references.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
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
  /** Its last status on disk; there while its file may be. Writer: `StatusCheckpoints`. */
  readonly checkpoint: PodCheckpoint;
  /** The pod as it was removed, with the time of that, until nothing of it is left. Writer: `PodChanges`. */
  readonly leaving: Pod;
  /** The folder of its logs, once it was prepared. Writer: the folders stage. */
  readonly logs: string;
  /** The images that it waits for. Writer: `ImageManager`. */
  readonly images: PodImages;
  /** The config maps and secrets that it refers to, from its first sync until it has ended. Writer: `ObjectUsers`. */
  readonly references: PodReferences;
  /** Where its resize stands. Writer: `ResizeStatuses`. */
  readonly resize: ResizeConditions;
  /** How its start went so far; there until it has run. Writer: `PodStartMetrics`. */
  readonly start: PodStart;
  /** Its service account tokens, by request. Writer: `ApiServiceAccountTokens`. */
  readonly tokens: ReadonlyMap<string, HeldToken>;
  /** The pod as its source last had it; absent when no source wants it. Writer: `PodRegistry`. */
  readonly wanted: Pod;
}

export interface PodCheckpoint {
  /** Undefined = the file is being removed. */
  readonly newest: PodStatus | undefined;
  /** What the next agent will know of the pod if this one ends now: nobody may be shown more. */
  readonly written: PodStatus | undefined;
  /** This agent has kept nothing of the pod yet: what is here is from the one before. */
  readonly isInherited: boolean;
  /** The life that this is the status of is over: should the pod come back under its UID, it begins again. */
  readonly isOver: boolean;
  readonly isPending: boolean;
  /** The newest could not be written. */
  readonly hasFailed: boolean;
}

export interface PodStart {
  readonly seenMs: number;
  /** When images were pulled for it, in the order in which that ended. */
  readonly pulls: readonly { readonly fromMs: number; readonly untilMs: number }[];
}

export type SliceName = keyof PodSlices;

export type ManagedPod = { readonly uid: string } & {
  readonly [Name in SliceName]?: PodSlices[Name] | undefined;
};
