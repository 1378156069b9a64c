import { durationText } from "../../lib/go-text.ts";
import type { GcItem } from "../../model/gc-item.ts";
import {
  type ImageCollection,
  type ImageFsUsage,
  type ImageGcOutcome,
  type ImageGcPolicy,
  type ImageRecord,
} from "../image/image-gc.ts";

/** What a collection of images would remove if each removal succeeds. */
export function planImageRemovals(
  collection: ImageCollection<ImageGcOutcome>,
  usage: ImageFsUsage,
  because: (reason: "age" | "space") => string,
): GcItem[] {
  const items: GcItem[] = [];
  let next = collection.next();
  while (next.done !== true) {
    const request = next.value;
    if (request.kind === "remove") items.push(imageItem(request.image, because(request.reason)));
    next = collection.next(request.kind === "readImageFs" ? { usage } : {});
  }
  return items;
}

/** Why images go by policy. */
export function imageRemovalReason(
  reason: "age" | "space",
  { maxAgeMs, highThresholdPercent, lowThresholdPercent }: ImageGcPolicy,
): string {
  return reason === "age"
    ? `no container has used it for more than ${durationText(maxAgeMs)}`
    : `no container uses it, and the images' disk is over ${highThresholdPercent}% full: freeing down to ${lowThresholdPercent}%`;
}

function imageItem({ id, names, sizeBytes }: ImageRecord, because: string): GcItem {
  return { kind: "image", id, name: names[0] ?? id, because, bytes: sizeBytes };
}
