import { type ImageUser, imageUser } from "../../core/cri/image-user.ts";
import {
  decideImage,
  failedPull,
  hasExpired,
  type ImageEvent,
  type ImageFailure,
  type ImageRefusal,
  mustLookForImage,
  pulledEvent,
  refuseName,
  refuseUninspected,
} from "../../core/image/image-pull.ts";
import { imageSizeClass } from "../../core/image/image-size-class.ts";
import type { ShownCredentials } from "../../core/image/pull-record.ts";
import type { BackoffLimits } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { forgetOldest } from "../../lib/forget-oldest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ImageSpec, PodSandboxConfig } from "../../model/generated/cri.ts";
import type { PodUid } from "../../model/ids.ts";
import { parseImageName, withDefaultTag } from "../../model/image-name.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ImageService } from "../../ports/container-runtime.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PullProgress, PullProgressReader } from "../../ports/pull-progress.ts";
import type { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import { ImagePuller, type ImagePullLimits } from "./image-puller.ts";
import type { ActivePull, FailedPull, PodImages } from "./pod-images.ts";
import type { PodCredentials, PullCredential } from "./pull-credentials.ts";
import type { PullRecords } from "./pull-records.ts";

export interface ImageRequest {
  readonly podUid: PodUid;
  readonly container: string;
  /** As the container names it. */
  readonly image: string;
  /** The container's imagePullPolicy. */
  readonly policy: string;
  /** The pod's annotations: the runtime may choose a platform or snapshotter by them. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly sandboxConfig: PodSandboxConfig | undefined;
  readonly credentials: PodCredentials;
  readonly onEvent: (event: ImageEvent) => void;
}

/** An image that a container can be created from; `message` says where it came from, "" after a pull. */
export interface ReadyImage {
  readonly imageRef: string;
  readonly message: string;
  /** The user it runs as; undefined when it was pulled and not inspected. */
  readonly user?: ImageUser | undefined;
}

export interface ImageManagerDeps {
  readonly table: PodTable;
  readonly runtime: ImageService;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly backoff: BackoffLimits;
  readonly pulls: ImagePullLimits;
  readonly changes: Pick<PodChanges, "noteStatus">;
  readonly starts: Pick<PodStartMetrics, "notePull">;
  readonly pullProgress?: PullProgressReader | undefined;
  /** Without them whatever is on the machine is everybody's. */
  readonly records?: PullRecords | undefined;
}

const progressIntervalMs = 1000;
/** Pulls that failed a while ago, of images that other pods name. */
const maxFailedPerPod = 1_000;

const noImages: PodImages = { active: new Map(), failed: new Map() };

/** Makes sure of the images of containers: looks, pulls, and backs off per pod and image. */
export class ImageManager {
  readonly #deps: ImageManagerDeps;
  readonly #puller: ImagePuller;
  readonly #slice: SliceWriter<"images">;

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
    this.#puller = new ImagePuller(deps.runtime, deps.clock, deps.pulls, deps.pullProgress);
    this.#slice = deps.table.writer("images");
  }

  /** Takes up what an agent before this one left; to be done once, at the start. */
  async recover(signal: AbortSignal): Promise<void> {
    await this.#deps.records?.recover(() => this.#deps.runtime.listImages(signal));
  }

  /** Rejects only when `signal` aborts; every other trouble is a failure with its waiting reason. */
  async ensureImage(
    request: ImageRequest,
    signal: AbortSignal,
  ): Promise<Result<ReadyImage, ImageFailure>> {
    const { policy } = request;
    const name = withDefaultTag(request.image);
    if (!name.ok) {
      this.#countRequest(policy, undefined, undefined);
      return refused(request, refuseName(request.image, name.error));
    }
    const spec: ImageSpec = { image: name.value, annotations: request.annotations };
    const found = await this.#findImage(spec, policy, signal);
    if (!found.ok) {
      this.#countRequest(policy, undefined, undefined);
      return refused(request, refuseUninspected(found.error));
    }
    const { id, user } = found.value ?? {};
    const isHere = mustLookForImage(policy) ? id !== undefined : undefined;
    const asked = { ...request, credentials: foundOnce(request.credentials) };
    const imageRef = (await this.#mayUse(asked, id, signal)) ? id : undefined;
    const isMissed = isHere === false && policy === "Never";
    this.#countRequest(policy, isHere, isMissed ? undefined : imageRef === undefined);
    const nowMs = this.#deps.clock.nowMs();
    const backoff = this.#backoffOf(request);
    const decision = decideImage({ ...request, imageRef, backoff, nowMs }, this.#deps.backoff);
    if (decision.kind === "refuse") return refused(request, decision);
    request.onEvent(decision.event);
    if (decision.kind === "pull") return await this.#pull(asked, spec, signal);
    return ok({ imageRef: decision.imageRef, message: decision.message, user });
  }

  /** Whether the pod may have an image that is on the machine; if not, it is as if it were not there. */
  async #mayUse(
    { image, credentials }: ImageRequest,
    imageRef: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.#deps.records === undefined || imageRef === undefined) return true;
    const show = async (): Promise<ShownCredentials> => {
      const found = await credentials.find(repositoryOf(image), signal);
      if (!found.ok) throw new Error(found.error);
      return shownBy(found.value);
    };
    return !(await this.#deps.records.mustProve(image, imageRef, show));
  }

  // A pod whose pull secrets have changed deserves a try at once.
  #backoffOf(request: ImageRequest): FailedPull | undefined {
    const failed = this.#failedPull(request);
    return failed?.credentialsVersion === request.credentials.version ? failed : undefined;
  }

  async #findImage(
    spec: ImageSpec,
    policy: string,
    signal: AbortSignal,
  ): Promise<Result<{ readonly id: string; readonly user: ImageUser } | undefined, string>> {
    if (!mustLookForImage(policy)) return ok(undefined);
    try {
      const { image } = await this.#deps.runtime.imageStatus(spec, false, signal);
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
    const startMs = this.#deps.clock.monotonicMs();
    const pulled = await this.#pullVisibly(request, spec, signal);
    const nowMs = this.#deps.clock.nowMs();
    if (!pulled.ok) {
      const { image } = request;
      const backoff = this.#failedPull(request);
      const failed = failedPull({ image, backoff, nowMs }, pulled.error, this.#deps.backoff);
      const credentialsVersion = request.credentials.version;
      this.#noteFailed(request, { ...failed.backoff, credentialsVersion });
      return refused(request, failed);
    }
    this.#forgetExpired(request.podUid, nowMs);
    const totalMs = this.#deps.clock.monotonicMs() - startMs;
    request.onEvent(pulledEvent(request.image, { ...pulled.value, totalMs }));
    this.#deps.metrics.observe("kubelet_image_pull_duration_seconds", totalMs / 1000, {
      image_size_in_bytes: imageSizeClass(Number(pulled.value.sizeBytes)),
    });
    this.#deps.starts.notePull(request.podUid, totalMs);
    return ok({ imageRef: pulled.value.imageRef, message: "" });
  }

  async #pullVisibly(
    request: ImageRequest,
    spec: ImageSpec,
    signal: AbortSignal,
  ): ReturnType<ImagePuller["pull"]> {
    const { credentials, sandboxConfig, podUid, container, image } = request;
    const sinceMs = this.#deps.clock.nowMs();
    const show = (isQueued: boolean, progress?: PullProgress): void =>
      this.#setActive(podUid, container, { container, image, sinceMs, isQueued, progress });
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
      this.#setActive(podUid, container, undefined);
    }
  }

  async #recorded(
    image: string,
    credentials: readonly PullCredential[],
    pull: () => ReturnType<ImagePuller["pull"]>,
  ): ReturnType<ImagePuller["pull"]> {
    const records = this.#deps.records;
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
      const { secret, account } = credentials[credential] ?? {};
      await records.end(image, imageRef === "" ? undefined : { imageRef, secret, account });
    }
  }

  /** Reports progress until `signal` aborts, or the runtime cannot be asked. */
  async #follow(
    repository: string,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { pullProgress: reader } = this.#deps;
    if (reader === undefined) return;
    let before = -1;
    try {
      while (!signal.aborted) {
        await this.#deps.clock.sleep(progressIntervalMs, signal);
        const progress = await reader.read(repository, signal);
        if (progress === undefined || progress.doneBytes === before) continue;
        before = progress.doneBytes;
        onProgress(progress);
      }
    } catch {
      // The pull itself reports errors.
    }
  }

  #countRequest(policy: string, isHere: boolean | undefined, isPulled: boolean | undefined): void {
    this.#deps.metrics.increment("kubelet_image_manager_ensure_image_requests_total", {
      pull_policy: policy.toLowerCase(),
      present_locally: String(isHere ?? "unknown"),
      pull_required: String(isPulled ?? "unknown"),
    });
  }

  #failedPull({ podUid, image }: ImageRequest): FailedPull | undefined {
    return this.#slice.get(podUid)?.failed.get(image);
  }

  #noteFailed({ podUid, image }: ImageRequest, pull: FailedPull): void {
    const images = this.#slice.get(podUid) ?? noImages;
    const failed = new Map(images.failed).set(image, pull);
    forgetOldest(failed, maxFailedPerPod);
    this.#slice.set(podUid, { ...images, failed });
  }

  #forgetExpired(podUid: PodUid, nowMs: number): void {
    const images = this.#slice.get(podUid);
    if (images === undefined) return;
    const kept = [...images.failed].filter(
      ([, pull]) => !hasExpired(pull, nowMs, this.#deps.backoff),
    );
    this.#slice.set(podUid, { ...images, failed: new Map(kept) });
  }

  #setActive(podUid: PodUid, container: string, pull: ActivePull | undefined): void {
    const images = this.#slice.get(podUid) ?? noImages;
    const active = new Map(images.active);
    if (pull === undefined) active.delete(container);
    else active.set(container, pull);
    this.#slice.set(podUid, { ...images, active });
    this.#deps.changes.noteStatus(podUid);
  }
}

/** Credential providers are asked once, for what the pod can show and for the pull. */
function foundOnce(credentials: PodCredentials): PodCredentials {
  let found: ReturnType<PodCredentials["find"]> | undefined;
  return {
    ...credentials,
    find: (repository, signal) => (found ??= credentials.find(repository, signal)),
  };
}

function shownBy(credentials: readonly PullCredential[]): ShownCredentials {
  return {
    secrets: credentials.flatMap(({ secret }) => secret ?? []),
    account: credentials.find(({ account }) => account !== undefined)?.account,
  };
}

function repositoryOf(image: string): string {
  const name = parseImageName(image);
  return name.ok ? name.value.repository : image;
}

function refused(
  request: ImageRequest,
  { event, failure }: ImageRefusal,
): Result<ReadyImage, ImageFailure> {
  request.onEvent(event);
  return err(failure);
}
