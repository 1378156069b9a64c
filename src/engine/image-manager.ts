import { withDefaultTag } from "../core/image/image-name.ts";
import {
  decideImage,
  failedPull,
  hasExpired,
  type ImageEvent,
  type ImageFailure,
  type ImageRefusal,
  mustLookForImage,
  type PullBackoff,
  type PullBackoffLimits,
  pulledEvent,
  refuseName,
  refuseUninspected,
} from "../core/image/image-pull.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { AuthConfig, ImageSpec, PodSandboxConfig } from "../model/generated/cri.ts";
import { runtimeErrorText } from "../model/runtime-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { ImageService } from "../ports/container-runtime.ts";
import { type ImagePull, ImagePuller, type ImagePullLimits } from "./image-puller.ts";

export interface ImageRequest {
  readonly podUid: string;
  /** As the container names it. */
  readonly image: string;
  /** The container's imagePullPolicy. */
  readonly policy: string;
  /** The pod's annotations: the runtime may choose a platform or snapshotter by them. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
  readonly sandboxConfig: PodSandboxConfig | undefined;
  /** Tried one after the other; without any, the pull is anonymous. */
  readonly credentials: readonly AuthConfig[];
  readonly onEvent: (event: ImageEvent) => void;
}

/** An image that a container can be created from; `message` says where it came from, "" after a pull. */
export interface ReadyImage {
  readonly imageRef: string;
  readonly message: string;
}

export interface ImageManagerSettings {
  readonly backoff: PullBackoffLimits;
  readonly pulls: ImagePullLimits;
}

/** Makes sure of the images of containers: looks, pulls, and backs off per pod and image. */
export class ImageManager {
  readonly #images: ImageService;
  readonly #clock: Clock;
  readonly #limits: PullBackoffLimits;
  readonly #puller: ImagePuller;
  readonly #backoffs = new Map<string, PullBackoff>();

  constructor(images: ImageService, clock: Clock, settings: ImageManagerSettings) {
    this.#images = images;
    this.#clock = clock;
    this.#limits = settings.backoff;
    this.#puller = new ImagePuller(images, clock, settings.pulls);
  }

  /** Rejects only when `signal` aborts; every other trouble is a failure with its waiting reason. */
  async ensureImage(
    request: ImageRequest,
    signal: AbortSignal,
  ): Promise<Result<ReadyImage, ImageFailure>> {
    const name = withDefaultTag(request.image);
    if (!name.ok) return refused(request, refuseName(request.image, name.error));
    const spec: ImageSpec = {
      image: name.value,
      annotations: request.annotations,
      runtimeHandler: request.runtimeHandler,
    };
    const found = await this.#findImage(spec, request.policy, signal);
    if (!found.ok) return refused(request, refuseUninspected(found.error));
    const key = `${request.podUid}_${request.image}`;
    const nowMs = this.#clock.nowMs();
    const decision = decideImage(
      { ...request, imageRef: found.value, backoff: this.#backoffs.get(key), nowMs },
      this.#limits,
    );
    if (decision.kind === "refuse") return refused(request, decision);
    request.onEvent(decision.event);
    if (decision.kind === "pull") return await this.#pull(request, spec, key, signal);
    return ok({ imageRef: decision.imageRef, message: decision.message });
  }

  async #findImage(
    spec: ImageSpec,
    policy: string,
    signal: AbortSignal,
  ): Promise<Result<string | undefined, string>> {
    if (!mustLookForImage(policy)) return ok(undefined);
    try {
      const { image } = await this.#images.imageStatus(spec, false, signal);
      if (image === undefined) return ok(undefined);
      const id = image.id ?? "";
      return id === "" ? err(`Id or size of image "${spec.image}" is not set`) : ok(id);
    } catch (error) {
      signal.throwIfAborted();
      return err(runtimeErrorText(error));
    }
  }

  async #pull(
    request: ImageRequest,
    spec: ImageSpec,
    key: string,
    signal: AbortSignal,
  ): Promise<Result<ReadyImage, ImageFailure>> {
    const startMs = this.#clock.monotonicMs();
    const pull: ImagePull = {
      spec,
      credentials: request.credentials,
      sandboxConfig: request.sandboxConfig,
    };
    const pulled = await this.#puller.pull(pull, signal);
    const nowMs = this.#clock.nowMs();
    if (!pulled.ok) {
      const backoff = this.#backoffs.get(key);
      const failed = failedPull(
        { image: request.image, backoff, nowMs },
        pulled.error,
        this.#limits,
      );
      this.#backoffs.set(key, failed.backoff);
      return refused(request, failed);
    }
    this.#forgetExpired(nowMs);
    const totalMs = this.#clock.monotonicMs() - startMs;
    request.onEvent(pulledEvent(request.image, { ...pulled.value, totalMs }));
    return ok({ imageRef: pulled.value.imageRef, message: "" });
  }

  #forgetExpired(nowMs: number): void {
    for (const [key, backoff] of this.#backoffs) {
      if (hasExpired(backoff, nowMs, this.#limits)) this.#backoffs.delete(key);
    }
  }
}

function refused(
  request: ImageRequest,
  { event, failure }: ImageRefusal,
): Result<ReadyImage, ImageFailure> {
  request.onEvent(event);
  return err(failure);
}
