import { imageRemovalReason, planImageRemovals } from "../../core/collect/gc-plan.ts";
import {
  collectAllImages,
  collectImages,
  type ImageCollection,
  type ImageGcAnswer,
  type ImageGcOutcome,
  type ImageGcPolicy,
  type ImageGcRequest,
  type ImageRecords,
  imagesInEvictionOrder,
  isImageGcOff,
  type PresentImage,
  recordImages,
} from "../../core/image/image-gc.ts";
import { errorText } from "../../lib/error-text.ts";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import type { GcItem, GcOptions } from "../../model/gc-item.ts";
import type { Image } from "../../model/generated/cri.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime, ImageService } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { ImageFileSystems } from "../resources/eviction/image-fs.ts";

const collectMs = 5 * 60_000;

export interface ImageCollectorDeps {
  readonly runtime: Pick<ContainerRuntime, "listContainers" | "status"> &
    Pick<ImageService, "listImages" | "removeImage">;
  readonly disks: Pick<ImageFileSystems, "imageUsage">;
  readonly observed: Pick<ObservedPods, "mountedImages">;
  readonly policy: ImageGcPolicy;
  readonly nodeEvents: NodeEvents;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

type Collect = typeof collectImages;

/** Removes images that no container uses: when the disk fills up, and when they were unused for long. */
export class ImageCollector {
  readonly #deps: ImageCollectorDeps;
  readonly #startedMs: number;
  #records: ImageRecords = new Map();
  readonly #turns = new KeyedTurns();

  constructor(deps: ImageCollectorDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.nowMs();
  }

  /** Collects every five minutes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, policy, log, nodeEvents } = this.#deps;
    let hasFailed = false;
    while (!signal.aborted) {
      try {
        // Even when nothing is ever removed by itself: what is in use now must be known when space is needed.
        if (isImageGcOff(policy))
          await this.#turns.run("images", () => this.#detect(clock.nowMs(), signal));
        else await this.#collect(collectImages, signal);
        hasFailed = false;
      } catch (error) {
        if (signal.aborted) return;
        const message = errorText(error);
        log.warn("cannot collect images", { error: message });
        // Once may be for lack of statistics so soon.
        if (hasFailed) nodeEvents.recordNode({ type: "Warning", reason: "ImageGCFailed", message });
        hasFailed = true;
      }
      await clock.sleep(collectMs, signal).catch(() => undefined);
    }
  }

  /** Removes by policy now; rejects when the disk stays too full. */
  async collectNow(signal: AbortSignal): Promise<void> {
    await this.#collect(collectImages, signal);
  }

  /** Removes every image that no container uses, but the very young ones. */
  async deleteUnused(signal: AbortSignal): Promise<void> {
    await this.#collect(collectAllImages, signal);
  }

  /** What would go now: by policy, or all that is unused. */
  async plan({ all }: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { policy, disks } = this.#deps;
    const usage = await disks.imageUsage(signal);
    return await this.#turns.run("images", async () => {
      const collection = await this.#begin(all ? collectAllImages : collectImages, signal);
      return planImageRemovals(collection, usage, (reason) =>
        all ? "no container uses it" : imageRemovalReason(reason, policy),
      );
    });
  }

  async #collect(collect: Collect, signal: AbortSignal): Promise<void> {
    const { event, error } = await this.#turns.run("images", async () =>
      this.#drive(await this.#begin(collect, signal), signal),
    );
    if (event !== undefined) this.#deps.nodeEvents.recordNode({ type: "Warning", ...event });
    if (error !== undefined) throw new Error(error);
  }

  async #begin(collect: Collect, signal: AbortSignal): Promise<ImageCollection<ImageGcOutcome>> {
    const nowMs = this.#deps.clock.nowMs();
    const inUse = await this.#detect(nowMs, signal);
    const candidates = imagesInEvictionOrder(this.#records, inUse);
    return collect(candidates, this.#deps.policy, { nowMs, startedMs: this.#startedMs });
  }

  async #drive(
    collection: ImageCollection<ImageGcOutcome>,
    signal: AbortSignal,
  ): Promise<ImageGcOutcome> {
    let next = collection.next();
    while (next.done !== true) next = collection.next(await this.#answer(next.value, signal));
    return next.value;
  }

  async #answer(request: ImageGcRequest, signal: AbortSignal): Promise<ImageGcAnswer> {
    const { disks, runtime, metrics, log } = this.#deps;
    try {
      if (request.kind === "readImageFs") return { usage: await disks.imageUsage(signal) };
      const { image, reason } = request;
      log.info("removing an image", { image: image.names[0] ?? image.id, reason });
      await runtime.removeImage({ image: image.id }, signal);
      this.#records = new Map([...this.#records].filter(([id]) => id !== image.id));
      metrics.increment("kubelet_image_garbage_collected_total", { reason });
      return {};
    } catch (error) {
      signal.throwIfAborted();
      return { error: errorText(error) };
    }
  }

  /** The ids of images that containers use, those that have ended too. */
  async #detect(nowMs: number, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { runtime } = this.#deps;
    const images = await runtime.listImages(signal);
    const containers = await runtime.listContainers({}, signal);
    const inUse = new Set([
      ...containers.map(({ imageId = "", imageRef = "" }) => (imageId === "" ? imageRef : imageId)),
      ...this.#deps.observed.mountedImages(),
    ]);
    const sandboxImage = await this.#sandboxImage(signal);
    const present = images.map((image) => presentImage(image, sandboxImage));
    this.#records = recordImages(this.#records, present, inUse, nowMs);
    return inUse;
  }

  /** The image that every pod needs. Older runtimes do not mark it as one to keep. */
  async #sandboxImage(signal: AbortSignal): Promise<string | undefined> {
    const { info } = await this.#deps.runtime.status(true, signal);
    return /"sandboxImage":\s*"([^"]+)"/.exec(info?.["config"] ?? "")?.[1];
  }
}

function presentImage(image: Image, sandboxImage: string | undefined): PresentImage {
  const { id = "", repoTags = [], size = 0n, pinned = false } = image;
  const isSandboxImage = sandboxImage !== undefined && repoTags.includes(sandboxImage);
  return { id, names: repoTags, sizeBytes: Number(size), isPinned: pinned || isSandboxImage };
}
