import { err, ok, type Result } from "../../lib/result.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { AuthConfig, ImageSpec, PodSandboxConfig } from "../../model/generated/cri.ts";
import { parseImageName } from "../../model/image-name.ts";
import { RuntimeError, runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ImageService } from "../../ports/container-runtime.ts";
import type { PullProgressReader } from "../../ports/pull-progress.ts";

export interface ImagePullLimits {
  /** How many pulls run at once; undefined = any number. */
  readonly maxParallel: number | undefined;
  /** How many pulls may begin per second, after a burst; 0 = any number. */
  readonly perSecond: number;
  readonly burst: number;
}

export interface ImagePull {
  readonly spec: ImageSpec;
  readonly credentials: readonly AuthConfig[];
  readonly sandboxConfig: PodSandboxConfig | undefined;
  /** Called when the pull no longer waits for its turn. */
  readonly onTurn: () => void;
}

interface PulledImage {
  readonly imageRef: string;
  readonly sizeBytes: bigint;
  /** The pull itself, without the time spent waiting for its turn. */
  readonly pullMs: number;
  /** Which of the credentials it was pulled with; undefined without any. */
  readonly credential: number | undefined;
}

type PullResult = Result<PulledImage, string>;

interface Flight {
  readonly result: Promise<PullResult>;
  readonly abort: AbortController;
  waiters: number;
  /** Called when its turn comes; undefined once it has. */
  onTurn: (() => void)[] | undefined;
}

/** A pull without progress for this long does not hold up others. */
const stallMs = 60_000;

/** Pulls images, a bounded number at once. Those who want the same image with the same rights share one pull. */
export class ImagePuller {
  readonly #images: ImageService;
  readonly #clock: Clock;
  readonly #semaphore: Semaphore;
  readonly #rate: TokenBucket | undefined;
  readonly #progress: PullProgressReader | undefined;
  readonly #flights = new Map<string, Flight>();

  constructor(
    images: ImageService,
    clock: Clock,
    limits: ImagePullLimits,
    progress: PullProgressReader | undefined,
  ) {
    this.#images = images;
    this.#clock = clock;
    this.#semaphore = new Semaphore(limits.maxParallel ?? Number.POSITIVE_INFINITY);
    this.#progress = progress;
    this.#rate = limits.perSecond > 0 ? new TokenBucket(limits.perSecond, limits.burst) : undefined;
  }

  /** A failed pull is an error text; rejects when `signal` aborts. A pull without waiters is cancelled. */
  async pull(pull: ImagePull, signal: AbortSignal): Promise<PullResult> {
    signal.throwIfAborted();
    const key = flightKey(pull);
    const flight = this.#flights.get(key) ?? this.#depart(key, pull);
    flight.waiters++;
    if (flight.onTurn === undefined) pull.onTurn();
    else flight.onTurn.push(pull.onTurn);
    try {
      return await untilAborted(flight.result, signal);
    } finally {
      flight.waiters--;
      if (flight.waiters === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.abort.abort(new Error("the pull has no waiters any more"));
      }
    }
  }

  #depart(key: string, pull: ImagePull): Flight {
    const abort = new AbortController();
    const onTurn = (): void => {
      const listeners = flight.onTurn ?? [];
      flight.onTurn = undefined;
      for (const notify of listeners) notify();
    };
    const result = this.#run(pull, onTurn, abort.signal);
    const flight: Flight = { result, abort, waiters: 0, onTurn: [] };
    this.#flights.set(key, flight);
    return flight;
  }

  async #run(pull: ImagePull, onTurn: () => void, signal: AbortSignal): Promise<PullResult> {
    const leave = await this.#semaphore.enter(signal);
    onTurn();
    const ended = new AbortController();
    const watched = this.#leaveWhenStalled(pull, leave, ended.signal);
    try {
      const startMs = this.#clock.monotonicMs();
      if (this.#rate !== undefined && !this.#rate.tryTake(startMs)) return err("pull QPS exceeded");
      const pulled = await this.#pullWithAnyCredential(pull, signal);
      if (!pulled.ok) return pulled;
      const sizeBytes = await this.#readSize(pull.spec, signal);
      const pullMs = this.#clock.monotonicMs() - startMs;
      return ok({ ...pulled.value, sizeBytes, pullMs });
    } finally {
      ended.abort();
      await watched;
      leave();
    }
  }

  // A registry that hangs would keep its place for ever, and a few of them all places.
  async #leaveWhenStalled(
    { spec: { image = "" } }: ImagePull,
    leave: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const name = parseImageName(image);
    if (this.#progress === undefined || !name.ok) return;
    let before = -1;
    try {
      for (;;) {
        await this.#clock.sleep(stallMs, signal);
        const progress = await this.#progress.read(name.value.repository, signal);
        if (progress === undefined || progress.doneBytes === before) break;
        before = progress.doneBytes;
      }
      leave();
    } catch {
      // The pull has ended, or the runtime cannot be asked: its place is left when it ends.
    }
  }

  async #pullWithAnyCredential(
    { spec, credentials, sandboxConfig }: ImagePull,
    signal: AbortSignal,
  ): Promise<Result<Pick<PulledImage, "imageRef" | "credential">, string>> {
    const errors = new Set<string>();
    const tries = credentials.length === 0 ? [undefined] : [...credentials.keys()];
    for (const credential of tries) {
      const auth = credential === undefined ? undefined : credentials[credential];
      try {
        const imageRef = await this.#images.pullImage(spec, auth, sandboxConfig, signal);
        if (imageRef !== "") return ok({ imageRef, credential });
        errors.add(`imageRef of image "${spec.image}" is not set`);
      } catch (error) {
        signal.throwIfAborted();
        errors.add(pullErrorText(error));
      }
    }
    const texts = [...errors].join(", ");
    return err(errors.size > 1 ? `[${texts}]` : texts);
  }

  async #readSize(spec: ImageSpec, signal: AbortSignal): Promise<bigint> {
    try {
      const { image } = await this.#images.imageStatus(spec, false, signal);
      return image?.size ?? 0n;
    } catch {
      // The size is only reported; the image is there without it.
      return 0n;
    }
  }
}

/**
 * Pulls are shared only between equal rights: a pod must not get an image by another's credentials.
 * The annotations that say where a pod came from differ in every pod and mean nothing to a runtime.
 */
function flightKey({ spec, credentials }: ImagePull): string {
  const annotations = Object.entries(spec.annotations ?? {})
    .filter(([name]) => !name.startsWith("kubernetes.io/config."))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([spec.image, annotations, credentials]);
}

/** The code "Unknown" does not help users; and reasons like RegistryUnavailable begin the text after it. */
function pullErrorText(error: unknown): string {
  return error instanceof RuntimeError && error.code === "Unknown"
    ? error.message
    : runtimeErrorText(error);
}
