import { type ImageUser, imageUser } from "../../core/cri/image-user.ts";
import {
  decideImage,
  failedPull,
  hasExpired,
  type ImageEvent,
  type ImageFailure,
  type ImageRefusal,
  mustLookForImage,
  type PullBackoff,
  pulledEvent,
  refuseName,
  refuseUninspected,
} from "../../core/image/image-pull.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { forgetOldest } from "../../lib/forget-oldest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ImageSpec, PodSandboxConfig } from "../../model/generated/cri.ts";
import { parseImageName, withDefaultTag } from "../../model/image-name.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ImageService } from "../../ports/container-runtime.ts";
import type { PullProgress, PullProgressReader } from "../../ports/pull-progress.ts";
import { ImagePuller, type ImagePullLimits } from "./image-puller.ts";
import type { PodCredentials, PullCredential } from "./pull-credentials.ts";
import type { PullRecords } from "./pull-records.ts";

export interface ImageRequest {
  readonly podUid: string;
  readonly container: string;
  /** As the container names it. */
  readonly image: string;
  /** The container's imagePullPolicy. */
  readonly policy: string;
  /** The pod's annotations: the runtime may choose a platform or snapshotter by them. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
  readonly sandboxConfig: PodSandboxConfig | undefined;
  readonly credentials: PodCredentials;
  readonly onEvent: (event: ImageEvent) => void;
}

/** An image that a container can be created from; `message` says where it came from, "" after a pull. */
export interface ReadyImage {
  readonly imageRef: string;
  readonly message: string;
  /** Whom it runs as; undefined when it was pulled and not looked at. */
  readonly user?: ImageUser | undefined;
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

export interface ImageManagerSettings {
  readonly backoff: BackoffLimits;
  readonly pulls: ImagePullLimits;
  /** The pulls under way for a pod are others now. */
  readonly onPulls?: ((podUid: string) => void) | undefined;
  /** A pull that succeeded, with the time that it waited for others. */
  readonly onPulled?: PullObserver | undefined;
  /** Somebody wanted an image: whether it was here, and whether it had to be pulled, as far as that was found out. */
  readonly onRequest?: ImageRequestObserver | undefined;
  readonly progress?: PullProgressReader | undefined;
  /** Without them whatever is on the machine is everybody's. */
  readonly records?: PullRecords | undefined;
}

type PullObserver = (podUid: string, sizeBytes: number, durationMs: number) => void;

type ImageRequestObserver = (
  policy: string,
  presentLocally: boolean | undefined,
  pullRequired: boolean | undefined,
) => void;

const progressIntervalMs = 1000;
/** Pulls that failed a while ago, of pods and images that others choose. */
const maxBackoffs = 10_000;

interface FailedPull extends PullBackoff {
  readonly credentialsVersion: string;
}

/** Makes sure of the images of containers: looks, pulls, and backs off per pod and image. */
export class ImageManager {
  readonly #images: ImageService;
  readonly #clock: Clock;
  readonly #limits: BackoffLimits;
  readonly #puller: ImagePuller;
  readonly #onPulls: (podUid: string) => void;
  readonly #onPulled: PullObserver;
  readonly #onRequest: ImageRequestObserver;
  readonly #progress: PullProgressReader | undefined;
  readonly #records: PullRecords | undefined;
  readonly #backoffs = new Map<string, FailedPull>();
  readonly #active = new Map<string, Map<string, ActivePull>>();

  constructor(images: ImageService, clock: Clock, settings: ImageManagerSettings) {
    this.#images = images;
    this.#clock = clock;
    this.#limits = settings.backoff;
    this.#puller = new ImagePuller(images, clock, settings.pulls, settings.progress);
    this.#onPulls = settings.onPulls ?? (() => undefined);
    this.#onPulled = settings.onPulled ?? (() => undefined);
    this.#onRequest = settings.onRequest ?? (() => undefined);
    this.#progress = settings.progress;
    this.#records = settings.records;
  }

  /** Takes up what an agent before this one left; to be done once, at the start. */
  async recover(signal: AbortSignal): Promise<void> {
    await this.#records?.recover(() => this.#images.listImages(signal));
  }

  /** The pulls under way for a pod, in the order they began. */
  activePulls(podUid: string): readonly ActivePull[] {
    return [...(this.#active.get(podUid)?.values() ?? [])];
  }

  /** Rejects only when `signal` aborts; every other trouble is a failure with its waiting reason. */
  async ensureImage(
    request: ImageRequest,
    signal: AbortSignal,
  ): Promise<Result<ReadyImage, ImageFailure>> {
    const { policy } = request;
    const name = withDefaultTag(request.image);
    if (!name.ok) {
      this.#onRequest(policy, undefined, undefined);
      return refused(request, refuseName(request.image, name.error));
    }
    const spec: ImageSpec = {
      image: name.value,
      annotations: request.annotations,
      runtimeHandler: request.runtimeHandler,
    };
    const found = await this.#findImage(spec, policy, signal);
    if (!found.ok) {
      this.#onRequest(policy, undefined, undefined);
      return refused(request, refuseUninspected(found.error));
    }
    const { id, user } = found.value ?? {};
    const isHere = mustLookForImage(policy) ? id !== undefined : undefined;
    const imageRef = (await this.#mayUse(request, id)) ? id : undefined;
    const isMissed = isHere === false && policy === "Never";
    this.#onRequest(policy, isHere, isMissed ? undefined : imageRef === undefined);
    const nowMs = this.#clock.nowMs();
    const backoff = this.#backoffOf(request);
    const decision = decideImage({ ...request, imageRef, backoff, nowMs }, this.#limits);
    if (decision.kind === "refuse") return refused(request, decision);
    request.onEvent(decision.event);
    if (decision.kind === "pull") return await this.#pull(request, spec, signal);
    return ok({ imageRef: decision.imageRef, message: decision.message, user });
  }

  /** Whether the pod may have an image that is on the machine; if not, it is as if it were not there. */
  async #mayUse(request: ImageRequest, imageRef: string | undefined): Promise<boolean> {
    if (this.#records === undefined || imageRef === undefined) return true;
    const { image, credentials } = request;
    const shown = credentials.shownLogins(repositoryOf(image));
    return !(await this.#records.mustProve(image, imageRef, shown));
  }

  // What other secrets the pod has now deserves a try at once.
  #backoffOf(request: ImageRequest): FailedPull | undefined {
    const failed = this.#backoffs.get(backoffKey(request));
    return failed?.credentialsVersion === request.credentials.version ? failed : undefined;
  }

  async #findImage(
    spec: ImageSpec,
    policy: string,
    signal: AbortSignal,
  ): Promise<Result<{ readonly id: string; readonly user: ImageUser } | undefined, string>> {
    if (!mustLookForImage(policy)) return ok(undefined);
    try {
      const { image } = await this.#images.imageStatus(spec, false, signal);
      if (image === undefined) return ok(undefined);
      const id = image.id ?? "";
      if (id === "") return err(`Id or size of image "${spec.image}" is not set`);
      return ok({ id, user: imageUser(image) });
    } catch (error) {
      signal.throwIfAborted();
      return err(runtimeErrorText(error));
    }
  }

  async #pull(
    request: ImageRequest,
    spec: ImageSpec,
    signal: AbortSignal,
  ): Promise<Result<ReadyImage, ImageFailure>> {
    const startMs = this.#clock.monotonicMs();
    const pulled = await this.#pullVisibly(request, spec, signal);
    const nowMs = this.#clock.nowMs();
    if (!pulled.ok) {
      const { image } = request;
      const backoff = this.#backoffs.get(backoffKey(request));
      const failed = failedPull({ image, backoff, nowMs }, pulled.error, this.#limits);
      const credentialsVersion = request.credentials.version;
      this.#backoffs.set(backoffKey(request), { ...failed.backoff, credentialsVersion });
      forgetOldest(this.#backoffs, maxBackoffs);
      return refused(request, failed);
    }
    this.#forgetExpired(nowMs);
    const totalMs = this.#clock.monotonicMs() - startMs;
    request.onEvent(pulledEvent(request.image, { ...pulled.value, totalMs }));
    this.#onPulled(request.podUid, Number(pulled.value.sizeBytes), totalMs);
    return ok({ imageRef: pulled.value.imageRef, message: "" });
  }

  async #pullVisibly(
    request: ImageRequest,
    spec: ImageSpec,
    signal: AbortSignal,
  ): ReturnType<ImagePuller["pull"]> {
    const { credentials, sandboxConfig, podUid, container, image } = request;
    const pulls = this.#active.get(podUid) ?? new Map<string, ActivePull>();
    this.#active.set(podUid, pulls);
    const sinceMs = this.#clock.nowMs();
    const show = (isQueued: boolean, progress?: PullProgress): void => {
      pulls.set(container, { container, image, sinceMs, isQueued, progress });
      this.#onPulls(podUid);
    };
    const ended = new AbortController();
    let followed: Promise<void> | undefined;
    try {
      show(true);
      const repository = repositoryOf(image);
      const found = await credentials.find(repository, signal);
      if (!found.ok) return found;
      const onTurn = (): void => {
        show(false);
        followed = this.#follow(repository, (progress) => show(false, progress), ended.signal);
      };
      const auths = found.value.map(({ auth }) => auth);
      const pull = { spec, credentials: auths, sandboxConfig, onTurn };
      return await this.#recorded(image, found.value, () => this.#puller.pull(pull, signal));
    } finally {
      ended.abort();
      await followed;
      pulls.delete(container);
      if (pulls.size === 0) this.#active.delete(podUid);
      this.#onPulls(podUid);
    }
  }

  async #recorded(
    image: string,
    credentials: readonly PullCredential[],
    pull: () => ReturnType<ImagePuller["pull"]>,
  ): ReturnType<ImagePuller["pull"]> {
    const records = this.#records;
    if (records === undefined) return await pull();
    try {
      await records.begin(image);
    } catch (error) {
      return err(
        `Failed to record image pull intent for container image "${image}": ${errorText(error)}`,
      );
    }
    let pulled: Awaited<ReturnType<ImagePuller["pull"]>> | undefined;
    try {
      pulled = await pull();
      return pulled;
    } finally {
      const { imageRef = "", credential = -1 } = pulled?.ok === true ? pulled.value : {};
      const secret = credentials[credential]?.secret;
      await records.end(image, imageRef === "" ? undefined : { imageRef, secret });
    }
  }

  /** Tells of each progress until `signal` aborts, or the runtime cannot be asked. */
  async #follow(
    repository: string,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#progress === undefined) return;
    let before = -1;
    try {
      while (!signal.aborted) {
        await this.#clock.sleep(progressIntervalMs, signal);
        const progress = await this.#progress.read(repository, signal);
        if (progress === undefined || progress.doneBytes === before) continue;
        before = progress.doneBytes;
        onProgress(progress);
      }
    } catch {
      // The pull itself tells when something is wrong.
    }
  }

  #forgetExpired(nowMs: number): void {
    for (const [key, backoff] of this.#backoffs) {
      if (hasExpired(backoff, nowMs, this.#limits)) this.#backoffs.delete(key);
    }
  }
}

function repositoryOf(image: string): string {
  const name = parseImageName(image);
  return name.ok ? name.value.repository : image;
}

function backoffKey({ podUid, image }: ImageRequest): string {
  return `${podUid}_${image}`;
}

function refused(
  request: ImageRequest,
  { event, failure }: ImageRefusal,
): Result<ReadyImage, ImageFailure> {
  request.onEvent(event);
  return err(failure);
}
