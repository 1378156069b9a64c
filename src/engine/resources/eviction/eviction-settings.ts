import type { EvictionPolicy } from "../../../core/eviction/eviction-state.ts";
import type { ThresholdList } from "../../../core/eviction/parse-thresholds.ts";
import type { ImageGcPolicy } from "../../../core/image/image-gc.ts";

/** When the node is short of something, and what it does then. */
export interface EvictionSettings {
  readonly thresholds: ThresholdList;
  readonly policy: EvictionPolicy;
  readonly images: ImageGcPolicy;
}
