import type { PullBackoff } from "../../core/image/image-pull.ts";
import type { PullProgress } from "../../ports/pull-progress.ts";

/** The images that a pod waits for. */
export interface PodImages {
  /** The pulls under way, by container, in the order in which they began. */
  readonly active: ReadonlyMap<string, ActivePull>;
  /** The pulls that failed, by image. */
  readonly failed: ReadonlyMap<string, FailedPull>;
}

/** An image on its way to a container. */
export interface ActivePull {
  readonly container: string;
  readonly image: string;
  readonly sinceMs: number;
  /** It waits for other pulls to end. */
  readonly isQueued: boolean;
  readonly progress?: PullProgress | undefined;
}

export interface FailedPull extends PullBackoff {
  /** Of the pull secrets that it failed with: others deserve a try at once. */
  readonly credentialsVersion: string;
}

export function activePulls(images: PodImages | undefined): readonly ActivePull[] {
  return [...(images?.active.values() ?? [])];
}
