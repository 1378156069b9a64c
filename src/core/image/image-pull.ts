// The decision whether a container may use an image, must pull it, or must wait; and the texts users see.
import { type BackoffLimits, nextDelayMs } from "../../lib/backoff.ts";
import { durationText, quoteText } from "../../lib/go-text.ts";

/** Why there is no image: `reason` is the container's waiting reason. */
export interface ImageFailure {
  readonly reason:
    | "InvalidImageName"
    | "ImageInspectError"
    | "ErrImageNeverPull"
    | "ImagePullBackOff"
    | "ErrImagePull"
    | "RegistryUnavailable"
    | "SignatureValidationFailed";
  readonly message: string;
  /** When the back-off ends. */
  readonly retryAtMs?: number | undefined;
}

export interface ImageEvent {
  readonly type: "Normal" | "Warning";
  readonly reason:
    | "Pulling"
    | "Pulled"
    | "Failed"
    | "BackOff"
    | "ErrImageNeverPull"
    | "InspectFailed";
  readonly message: string;
}

export interface ImageRefusal {
  readonly kind: "refuse";
  readonly failure: ImageFailure;
  readonly event: ImageEvent;
}

export type ImageDecision =
  | {
      readonly kind: "use";
      readonly imageRef: string;
      readonly message: string;
      readonly event: ImageEvent;
    }
  | { readonly kind: "pull"; readonly event: ImageEvent }
  | ImageRefusal;

/** The failed pulls of one image by one pod. */
export interface PullBackoff {
  readonly delayMs: number;
  readonly failedAtMs: number;
  /** The last failure as "reason: message". */
  readonly failure: string;
}

interface ImageQuestion {
  /** As the pod names it. */
  readonly image: string;
  readonly policy: string;
  /** The runtime's reference of the image; undefined when it is not there or was not looked for. */
  readonly imageRef: string | undefined;
  readonly backoff: PullBackoff | undefined;
  readonly nowMs: number;
}

/** Whether the runtime is asked for the image before it is pulled. */
export function mustLookForImage(policy: string): boolean {
  return policy === "IfNotPresent" || policy === "Never";
}

/** What happens next for an image that has been looked for, as its pull policy wants. */
export function decideImage(question: ImageQuestion, limits: BackoffLimits): ImageDecision {
  const { image, policy, imageRef, backoff, nowMs } = question;
  if (imageRef !== undefined) {
    const message = `Container image ${quoteText(image)} already present on machine and can be accessed by the pod`;
    return { kind: "use", imageRef, message, event: { type: "Normal", reason: "Pulled", message } };
  }
  if (policy === "Never") {
    const message = `Container image ${quoteText(image)} is not present with pull policy of Never`;
    return refuse({ reason: "ErrImageNeverPull", message }, "ErrImageNeverPull");
  }
  if (backoff !== undefined && nowMs - backoff.failedAtMs < backoff.delayMs) {
    if (!hasExpired(backoff, nowMs, limits)) return refuseInBackoff(image, backoff);
  }
  const message = `Pulling image ${quoteText(image)}`;
  return { kind: "pull", event: { type: "Normal", reason: "Pulling", message } };
}

export function refuseName(image: string, why: string): ImageRefusal {
  const message = `Failed to apply default image tag ${quoteText(image)}: ${why}`;
  return refuse({ reason: "InvalidImageName", message }, "InspectFailed");
}

export function refuseUninspected(why: string): ImageRefusal {
  // The quotes stay empty: the reference that belongs there is what could not be read.
  const message = `Failed to inspect image "": ${why}`;
  return refuse({ reason: "ImageInspectError", message }, "InspectFailed");
}

/** A pull that failed; `backoff` is what the next decision of this pod and image starts from. */
export function failedPull(
  { image, backoff, nowMs }: Pick<ImageQuestion, "image" | "backoff" | "nowMs">,
  why: string,
  limits: BackoffLimits,
): ImageRefusal & { readonly backoff: PullBackoff } {
  const failure = pullFailure(image, why);
  const isFirst = backoff === undefined || hasExpired(backoff, nowMs, limits);
  const delayMs = nextDelayMs(isFirst ? undefined : backoff.delayMs, limits);
  return {
    kind: "refuse",
    failure,
    event: {
      type: "Warning",
      reason: "Failed",
      message: `Failed to pull image ${quoteText(image)}: ${why}`,
    },
    backoff: { delayMs, failedAtMs: nowMs, failure: `${failure.reason}: ${failure.message}` },
  };
}

/** A pull that succeeded. */
export function pulledEvent(
  image: string,
  pull: { readonly pullMs: number; readonly totalMs: number; readonly sizeBytes: bigint },
): ImageEvent {
  const took = durationText(Math.floor(pull.pullMs));
  const including = durationText(Math.floor(pull.totalMs));
  return {
    type: "Normal",
    reason: "Pulled",
    message: `Successfully pulled image ${quoteText(image)} in ${took} (${including} including waiting). Image size: ${pull.sizeBytes} bytes.`,
  };
}

/** A pod without a failed pull for long starts again with the shortest delay. */
export function hasExpired(backoff: PullBackoff, nowMs: number, { maxMs }: BackoffLimits): boolean {
  return nowMs - backoff.failedAtMs > 2 * maxMs;
}

function refuseInBackoff(image: string, backoff: PullBackoff): ImageRefusal {
  const message = `Back-off pulling image ${quoteText(image)}`;
  const retryAtMs = backoff.failedAtMs + backoff.delayMs;
  return {
    kind: "refuse",
    failure: { reason: "ImagePullBackOff", message: `${message}: ${backoff.failure}`, retryAtMs },
    event: { type: "Normal", reason: "BackOff", message },
  };
}

function pullFailure(image: string, why: string): ImageFailure {
  const registry = withoutPrefix(why, "RegistryUnavailable");
  if (registry !== undefined) {
    const message = `image pull failed for ${image} because the registry is unavailable${registry}`;
    return { reason: "RegistryUnavailable", message };
  }
  const signature = withoutPrefix(why, "SignatureValidationFailed");
  if (signature !== undefined) {
    const message = `image pull failed for ${image} because the signature validation failed${signature}`;
    return { reason: "SignatureValidationFailed", message };
  }
  return { reason: "ErrImagePull", message: why };
}

function withoutPrefix(text: string, prefix: string): string | undefined {
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}

function refuse(
  failure: ImageFailure,
  reason: "ErrImageNeverPull" | "InspectFailed",
): ImageRefusal {
  return { kind: "refuse", failure, event: { type: "Warning", reason, message: failure.message } };
}
