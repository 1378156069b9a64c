import { type BackoffLimits, delayAfterMs, nextDelayMs } from "../../lib/backoff.ts";
import { durationText } from "../../lib/go-text.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { type AnyContainer, type Pod, podDisplayName } from "../../model/pod.ts";

export const crashLoopLimits: BackoffLimits = { initialMs: 10_000, maxMs: 300_000 };

/** A container that ended this long after its delay last grew had run well: its delay starts over. */
const stableAfterMs = 600_000;

/** The delay each container has come to, by `backoffKey`. */
export type RestartHistory = ReadonlyMap<string, RestartRecord>;

interface RestartRecord {
  readonly delayMs: number;
  readonly increasedAtMs: number;
}

export interface RestartAttempt {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly observed: ObservedPod;
  readonly nowMs: number;
}

export type RestartBackoff =
  | { readonly kind: "wait"; readonly untilMs: number; readonly message: string }
  /** It starts now. `nextDelayMs`: how long it waits after its next end; absent = it has not ended yet. */
  | { readonly kind: "start"; readonly nextDelayMs?: number | undefined };

/** Whether a container may start now: after each end it waits twice as long as before. */
export function restartBackoff(
  history: RestartHistory,
  { pod, container, observed, nowMs }: RestartAttempt,
  limits: BackoffLimits,
): RestartBackoff {
  const ended = observed.containers.find(
    ({ name, state }) => name === container.name && state === "exited",
  );
  if (ended === undefined) return { kind: "start" };
  const finishedAtMs = ended.finishedAtMs ?? Number.NEGATIVE_INFINITY;
  const key = backoffKey(pod, container);
  const known = history.get(key);
  const record = known === undefined || isStable(known, finishedAtMs) ? undefined : known;
  if (record !== undefined && nowMs - finishedAtMs < record.delayMs) {
    const delay = durationText(record.delayMs);
    const message = `back-off ${delay} restarting failed container=${container.name} pod=${podDisplayName(pod)}`;
    return { kind: "wait", untilMs: finishedAtMs + record.delayMs, message };
  }
  return { kind: "start", nextDelayMs: nextDelayMs(record?.delayMs, limits) };
}

/** The history after a start that was decided to come with that delay. */
export function countRestart(
  history: RestartHistory,
  { pod, container, nowMs }: Pick<RestartAttempt, "pod" | "container" | "nowMs">,
  delayMs: number,
): RestartHistory {
  return new Map(history).set(backoffKey(pod, container), { delayMs, increasedAtMs: nowMs });
}

/**
 * The history that an agent before this one must have had of a container: how often it was restarted says how
 * far its delay has come. Without this a restarted agent would restart every crashing container at once.
 */
export function recallRestarts(
  history: RestartHistory,
  { pod, container, observed }: Omit<RestartAttempt, "nowMs">,
  limits: BackoffLimits,
): RestartHistory {
  const last = observed.containers.find(({ name }) => name === container.name);
  const key = backoffKey(pod, container);
  if (last?.createdAtMs === undefined || last.restartCount === 0 || history.has(key))
    return history;
  const delayMs = delayAfterMs(last.restartCount, limits);
  return new Map(history).set(key, { delayMs, increasedAtMs: last.createdAtMs });
}

/** The history without what is too old to matter. */
export function pruneRestartHistory(history: RestartHistory, nowMs: number): RestartHistory {
  return new Map([...history].filter(([, record]) => !isStable(record, nowMs)));
}

/** Names a container together with what makes it a new try when it changes: its image and resources. */
export function backoffKey({ metadata }: Pod, { name, image, resources }: AnyContainer): string {
  return JSON.stringify([
    metadata.name,
    metadata.namespace,
    metadata.uid,
    name,
    image ?? "",
    sorted(resources?.limits),
    sorted(resources?.requests),
    resources?.claims ?? [],
  ]);
}

function sorted(list: Readonly<Record<string, string>> = {}): readonly [string, string][] {
  return Object.entries(list).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function isStable({ increasedAtMs }: RestartRecord, atMs: number): boolean {
  return atMs - increasedAtMs > stableAfterMs;
}
