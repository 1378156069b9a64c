import { ImageManager } from "../../../src/engine/images/image-manager.ts";
import { podUid } from "../../../src/model/ids.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { ImageService } from "../../../src/ports/container-runtime.ts";
import { fixedCredentials } from "../../kit/fixed-credentials.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { testImagePods } from "../../kit/pod-parts.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly backoff: { readonly initialSeconds: number; readonly maxSeconds: number };
  readonly image: string;
  readonly presentInitially: boolean;
  readonly pullPolicy: string;
  readonly steps: readonly { readonly now: number; readonly pullError?: string }[];
}

/** The image service that the vectors describe: references are names, and a pulled image stays. */
class VectorImages implements ImageService {
  pullError: string | undefined;
  pulls = 0;
  #present: boolean;

  constructor(present: boolean) {
    this.#present = present;
  }

  imageStatus: ImageService["imageStatus"] = async ({ image }) =>
    this.#present ? { image: { id: image, size: 1n } } : {};
  listImages: ImageService["listImages"] = async () => [];
  removeImage: ImageService["removeImage"] = async () => {};
  imageFsInfo: ImageService["imageFsInfo"] = async () => ({});
  pullImage: ImageService["pullImage"] = async ({ image = "" }) => {
    this.pulls++;
    if (this.pullError !== undefined) {
      throw new RuntimeError("PullImage", "Unknown", this.pullError);
    }
    this.#present = true;
    return image;
  };
}

async function run(input: Input): Promise<unknown> {
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    startTimer: () => ({ stop: () => undefined }),
    sleep: async () => {},
  };
  const images = new VectorImages(input.presentInitially);
  const { initialSeconds, maxSeconds } = input.backoff;
  const manager = new ImageManager({
    ...testImagePods(),
    runtime: images,
    clock,
    metrics: noMetrics,
    backoff: { initialMs: initialSeconds * 1000, maxMs: maxSeconds * 1000 },
    pulls: { maxParallel: undefined, perSecond: 0, burst: 0 },
  });
  const steps: unknown[] = [];
  for (const { now, pullError } of input.steps) {
    nowMs = now * 1000;
    images.pullError = pullError;
    images.pulls = 0;
    let eventCount = 0;
    const result = await manager.ensureImage(
      {
        podUid: podUid("uid"),
        container: "c",
        image: input.image,
        policy: input.pullPolicy,
        annotations: {},
        sandboxConfig: undefined,
        credentials: fixedCredentials(),
        onEvent: () => eventCount++,
      },
      new AbortController().signal,
    );
    steps.push({
      error: result.ok ? null : result.error.reason,
      imageRef: result.ok ? result.value.imageRef : "",
      message: result.ok ? result.value.message : result.error.message,
      eventCount,
      pullAttempted: images.pulls > 0,
    });
  }
  return { steps };
}

export const imagePull: VectorDomain = vectorDomain<Input>("image-pull", run);
