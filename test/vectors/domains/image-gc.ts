import {
  collectAllImages,
  collectImages,
  type ImageCollection,
  type ImageFsUsage,
  type ImageGcOutcome,
  type ImageGcPolicy,
  type ImageRecord,
  type ImageRecords,
  imageGcPolicyProblem,
  imagesInEvictionOrder,
  type PresentImage,
  recordImages,
} from "../../../src/core/image/image-gc.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface EncodedImage {
  readonly id: string;
  readonly size: number;
  readonly pinned?: boolean;
  readonly inUse?: boolean;
  readonly firstDetectedSecondsAgo?: number;
  readonly lastUsedSecondsAgo?: number;
  readonly removeFails?: boolean;
}

interface Input {
  readonly policy: {
    readonly highThresholdPercent: number;
    readonly lowThresholdPercent: number;
    readonly minAgeSeconds: number;
    readonly maxAgeSeconds: number;
  };
  readonly imageFs: ImageFsUsage;
  readonly images?: readonly EncodedImage[] | null;
  readonly staleRecord?: string;
  readonly op?: "garbageCollect" | "deleteUnusedImages";
  readonly startedSecondsAgo?: number;
}

const nowMs = Date.parse("2026-05-04T10:00:00Z");

export const imageGc: VectorDomain = vectorDomain<Input>("image-gc", (input) => {
  const policy = decodePolicy(input);
  const policyError = imageGcPolicyProblem(policy);
  if (policyError !== undefined) return { policyError };
  const images = input.images ?? [];
  const inUse = new Set(images.filter((image) => image.inUse === true).map(({ id }) => id));
  const present = images.map(decodePresent);
  const records = recordImages(decodeRecords(input), present, inUse, nowMs);
  const startedMs = nowMs - (input.startedSecondsAgo ?? 0) * 1000;
  const collect = input.op === "garbageCollect" ? collectImages : collectAllImages;
  const collection = collect(imagesInEvictionOrder(records, inUse), policy, { nowMs, startedMs });
  const { outcome, removed } = drive(collection, input);
  return {
    removed,
    error: outcome.error ?? null,
    events:
      outcome.event === undefined
        ? []
        : [`Warning ${outcome.event.reason} ${outcome.event.message}`],
    hookCalls: outcome.remaining === undefined ? null : [outcome.remaining],
    recordsAfter: [...records.keys()].filter((id) => !removed.includes(id)).toSorted(),
  };
});

function drive(collection: ImageCollection<ImageGcOutcome>, { images, imageFs }: Input) {
  const removed: string[] = [];
  let next = collection.next();
  while (next.done !== true) {
    const request = next.value;
    if (request.kind === "readImageFs") {
      next = collection.next({ usage: imageFs });
      continue;
    }
    const { id } = request.image;
    const fails = images?.some((image) => image.id === id && image.removeFails === true) === true;
    if (!fails) removed.push(id);
    next = collection.next(fails ? { error: `cannot remove ${id}` } : {});
  }
  return { outcome: next.value, removed };
}

function decodePolicy({ policy }: Input): ImageGcPolicy {
  return {
    highThresholdPercent: policy.highThresholdPercent,
    lowThresholdPercent: policy.lowThresholdPercent,
    minAgeMs: policy.minAgeSeconds * 1000,
    maxAgeMs: policy.maxAgeSeconds * 1000,
  };
}

function decodePresent(image: EncodedImage): PresentImage {
  return {
    id: image.id,
    names: [],
    sizeBytes: image.size,
    isPinned: image.pinned === true,
  };
}

function decodeRecords({ images, staleRecord }: Input): ImageRecords {
  const known = (images ?? []).flatMap((image): ImageRecord[] => {
    const { firstDetectedSecondsAgo, lastUsedSecondsAgo } = image;
    if (firstDetectedSecondsAgo === undefined) return [];
    const firstDetectedMs = nowMs - firstDetectedSecondsAgo * 1000;
    const lastUsedMs =
      lastUsedSecondsAgo === undefined ? undefined : nowMs - lastUsedSecondsAgo * 1000;
    return [{ ...decodePresent(image), firstDetectedMs, lastUsedMs }];
  });
  const stale =
    staleRecord === undefined
      ? []
      : [{ ...decodePresent({ id: staleRecord, size: 0 }), firstDetectedMs: 0, lastUsedMs: 0 }];
  return new Map([...known, ...stale].map((record) => [record.id, record]));
}
