import { withJitter } from "../../lib/backoff.ts";
import type { PodWorkOutcome } from "./worker-state.ts";

/** When to sync a pod again, before jitter. */
export type Requeue =
  | { readonly kind: "immediate" }
  | { readonly kind: "resync" }
  | { readonly kind: "transient" }
  | { readonly kind: "backoff"; readonly untilMs?: number | undefined };

export interface RequeueSettings {
  readonly resyncIntervalMs: number;
  readonly backoffMs: number;
}

/** An error with this text is expected to pass soon: the network comes up by itself. */
export const networkNotReadyMessage = "network is not ready";

const transientBackoffMs = 1000;
const jitterShare = 0.5;

/** When to sync again after a call that did not change the pod's phase of life. */
export function requeueAfter(outcome: PodWorkOutcome): Requeue {
  switch (outcome.kind) {
    case "done":
      return { kind: "resync" };
    case "cancelled":
      return { kind: "backoff" };
    case "failed":
      return outcome.message.includes(networkNotReadyMessage)
        ? { kind: "transient" }
        : { kind: "backoff", untilMs: outcome.retryAtMs };
  }
}

/** The delay with up to half of it added by `random` (from 0 to 1), so that pods do not come due together. */
export function requeueDelayMs(
  requeue: Requeue,
  settings: RequeueSettings,
  nowMs: number,
  random: number,
): number {
  return withJitter(baseDelayMs(requeue, settings, nowMs), jitterShare, random);
}

function baseDelayMs(requeue: Requeue, settings: RequeueSettings, nowMs: number): number {
  switch (requeue.kind) {
    case "immediate":
      return 0;
    case "resync":
      return settings.resyncIntervalMs;
    case "transient":
      return transientBackoffMs;
    case "backoff": {
      const delayMs = requeue.untilMs === undefined ? settings.backoffMs : requeue.untilMs - nowMs;
      return Math.min(Math.max(delayMs, 0), settings.resyncIntervalMs);
    }
  }
}
