// Which images go when the disk fills up or when they were unused for long. Removing one may fail, so the
// decisions are generators that ask for one thing after the other and go on with the answer.
import { compareText } from "../../lib/compare-text.ts";
import { durationText } from "../../lib/go-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { sizeText } from "../../lib/size-text.ts";

export interface ImageGcPolicy {
  /** From this part of the disk on, images are removed. */
  readonly highThresholdPercent: number;
  /** Down to this part. */
  readonly lowThresholdPercent: number;
  /** A younger image may be about to be used. */
  readonly minAgeMs: number;
  /** An image that was not used for longer goes however empty the disk is; 0 = never. */
  readonly maxAgeMs: number;
}

/** An image as the runtime lists it. */
export interface PresentImage {
  readonly id: string;
  /** Its tags; none for an image that is only known by its digest. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly isPinned: boolean;
}

/** What is remembered of an image from one collection to the next. */
export interface ImageRecord extends PresentImage {
  readonly firstDetectedMs: number;
  /** Undefined when it was never seen in use. */
  readonly lastUsedMs: number | undefined;
}

/** By image id. */
export type ImageRecords = ReadonlyMap<string, ImageRecord>;

export type ImageGcRequest =
  | {
      readonly kind: "remove";
      readonly image: ImageRecord;
      /** As metrics name it. */
      readonly reason: "age" | "space";
    }
  | { readonly kind: "readImageFs" };

/** The answer to a request: why an image could not be removed, or how full the disk is. */
export interface ImageGcAnswer {
  readonly error?: string | undefined;
  readonly usage?: ImageFsUsage | undefined;
}

/** How full the disk is that holds images. */
export interface ImageFsUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** A collection under way: it asks, and continues with the answer. */
export type ImageCollection<T> = Generator<ImageGcRequest, T, ImageGcAnswer>;

interface ImageGcEvent {
  readonly reason: "InvalidDiskCapacity" | "FreeDiskSpaceFailed";
  readonly message: string;
}

export interface ImageGcOutcome {
  /** Why the disk is not as empty as it should be. */
  readonly error?: string | undefined;
  readonly event?: ImageGcEvent | undefined;
  /** The ids of unused images that were considered and stay; undefined when none had to go. */
  readonly remaining?: readonly string[] | undefined;
}

export interface ImageGcMoment {
  readonly nowMs: number;
  /** When the agent began to watch images. */
  readonly startedMs: number;
}

interface FreedSpace {
  readonly freedBytes: bigint;
  readonly remaining: readonly string[];
}

/** More than any disk holds. */
const allBytes = 2n ** 63n - 1n;

/** What is wrong with a policy; undefined when nothing is. */
export function imageGcPolicyProblem(policy: ImageGcPolicy): string | undefined {
  const { highThresholdPercent: high, lowThresholdPercent: low } = policy;
  if (high < 0 || high > 100) {
    return `invalid HighThresholdPercent ${high}, must be in range [0-100]`;
  }
  if (low < 0 || low > 100) return `invalid LowThresholdPercent ${low}, must be in range [0-100]`;
  if (low <= high) return undefined;
  return `LowThresholdPercent ${low} can not be higher than HighThresholdPercent ${high}`;
}

/** Whether a policy never removes anything by itself. */
export function isImageGcOff({ highThresholdPercent, maxAgeMs }: ImageGcPolicy): boolean {
  return highThresholdPercent === 100 && maxAgeMs === 0;
}

/** The records brought in line with the images that are there and those in use. */
export function recordImages(
  records: ImageRecords,
  images: readonly PresentImage[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): ImageRecords {
  return new Map(
    images.map((image) => {
      const { id } = image;
      const known = records.get(id);
      const lastUsedMs = inUse.has(id) ? nowMs : known?.lastUsedMs;
      const firstDetectedMs = known?.firstDetectedMs ?? nowMs;
      return [id, { ...image, firstDetectedMs, lastUsedMs }];
    }),
  );
}

/** The images that may go, those unused for longest first. */
export function imagesInEvictionOrder(
  records: ImageRecords,
  inUse: ReadonlySet<string>,
): ImageRecord[] {
  return [...records.values()]
    .filter(({ id, isPinned }) => !inUse.has(id) && !isPinned)
    .toSorted((a, b) => {
      const byUse = (a.lastUsedMs ?? 0) - (b.lastUsedMs ?? 0);
      if (byUse !== 0) return byUse;
      const byDetection = a.firstDetectedMs - b.firstDetectedMs;
      // So that a plan shows what the collection after it removes.
      return byDetection === 0 ? compareText(a.id, b.id) : byDetection;
    });
}

/** Removes images that were unused for too long and, when the disk is too full, others until it is empty enough. */
export function* collectImages(
  images: readonly ImageRecord[],
  policy: ImageGcPolicy,
  moment: ImageGcMoment,
): ImageCollection<ImageGcOutcome> {
  const young = yield* freeOldImages(images, policy, moment);
  if (!young.ok) return { error: young.error };
  const { usage, error } = yield { kind: "readImageFs" };
  if (usage === undefined) return { error };
  const verdict = judgeImageFs(usage, policy);
  switch (verdict.kind) {
    case "fine":
      return {};
    case "invalid": {
      const { error: message } = verdict;
      return { error: message, event: { reason: "InvalidDiskCapacity", message } };
    }
    case "full": {
      const { bytesToFree, usedPercent } = verdict;
      const freed = yield* freeSpace(young.value, policy, { ...moment, bytes: bytesToFree });
      if (!freed.ok) return { error: freed.error };
      const { freedBytes, remaining } = freed.value;
      if (freedBytes >= bytesToFree) return { remaining };
      const message = insufficientSpaceMessage(usage, usedPercent, freedBytes);
      return { remaining, error: message, event: { reason: "FreeDiskSpaceFailed", message } };
    }
  }
}

/** Removes every unused image that is old enough. */
export function* collectAllImages(
  images: readonly ImageRecord[],
  policy: ImageGcPolicy,
  moment: ImageGcMoment,
): ImageCollection<ImageGcOutcome> {
  const freed = yield* freeSpace(images, policy, { ...moment, bytes: allBytes });
  return freed.ok ? { remaining: freed.value.remaining } : { error: freed.error };
}

/** Nothing counts as old before the agent itself has run for that long. */
function* freeOldImages(
  images: readonly ImageRecord[],
  { maxAgeMs }: ImageGcPolicy,
  { nowMs, startedMs }: ImageGcMoment,
): ImageCollection<Result<readonly ImageRecord[], string>> {
  if (maxAgeMs === 0 || nowMs - startedMs <= maxAgeMs) return ok(images);
  const errors: string[] = [];
  const remaining: ImageRecord[] = [];
  for (const image of images) {
    if (image.lastUsedMs !== undefined && nowMs - image.lastUsedMs <= maxAgeMs) {
      remaining.push(image);
      continue;
    }
    const { error } = yield { kind: "remove", image, reason: "age" };
    if (error === undefined) continue;
    errors.push(error);
    remaining.push(image);
  }
  if (errors.length === 0) return ok(remaining);
  const wanted = `wanted to free images older than ${durationText(maxAgeMs)}`;
  return err(`${wanted}, encountered errors in image deletion: ${joinedErrors(errors)}`);
}

function* freeSpace(
  images: readonly ImageRecord[],
  { minAgeMs }: ImageGcPolicy,
  { nowMs, bytes }: { readonly nowMs: number; readonly bytes: bigint },
): ImageCollection<Result<FreedSpace, string>> {
  const errors: string[] = [];
  const remaining: string[] = [];
  let freedBytes = 0n;
  for (const image of images) {
    const isInUse = image.lastUsedMs !== undefined && image.lastUsedMs >= nowMs;
    if (isInUse || nowMs - image.firstDetectedMs < minAgeMs) {
      remaining.push(image.id);
      continue;
    }
    const { error } = yield { kind: "remove", image, reason: "space" };
    if (error !== undefined) {
      errors.push(error);
      remaining.push(image.id);
      continue;
    }
    freedBytes += BigInt(image.sizeBytes);
    if (freedBytes >= bytes) break;
  }
  if (errors.length === 0) return ok({ freedBytes, remaining });
  const freed = `wanted to free ${bytes} bytes, but freed ${freedBytes} bytes space`;
  return err(`${freed} with errors in image deletion: ${joinedErrors(errors)}`);
}

type ImageFsVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "invalid"; readonly error: string }
  | { readonly kind: "full"; readonly usedPercent: number; readonly bytesToFree: bigint };

/** Whether the disk that holds images is too full, and how much has to be freed. */
function judgeImageFs(usage: ImageFsUsage, policy: ImageGcPolicy): ImageFsVerdict {
  const capacity = BigInt(usage.capacityBytes);
  const available = BigInt(Math.min(usage.availableBytes, usage.capacityBytes));
  if (capacity === 0n) {
    return { kind: "invalid", error: "invalid capacity 0 on image filesystem" };
  }
  const usedPercent = 100 - Number((available * 100n) / capacity);
  if (usedPercent < policy.highThresholdPercent) return { kind: "fine" };
  const wanted = (capacity * BigInt(100 - policy.lowThresholdPercent)) / 100n;
  return { kind: "full", usedPercent, bytesToFree: wanted - available };
}

/** What is said when removing all unused images was not enough. */
function insufficientSpaceMessage(
  { capacityBytes }: ImageFsUsage,
  usedPercent: number,
  freedBytes: bigint,
): string {
  return (
    `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${sizeText(capacityBytes)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). ` +
    "Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
  );
}
