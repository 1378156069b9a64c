import type { KillReason } from "../../core/pod/step.ts";
import {
  stopTimeoutSeconds,
  terminationGraceSeconds,
} from "../../core/termination/grace-period.ts";
import type { AnyContainer, ContainerKind, Pod } from "../../model/pod.ts";
import { isNotFound } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import { type HookDeps, runHook } from "./run-hook.ts";

export interface KillDeps extends HookDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    "execSync" | "stopContainer" | "stopPodSandbox" | "containerStatus"
  >;
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly log: Log;
}

export interface KillContainerRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly kind: ContainerKind;
  /** The runtime's id, without prefix. */
  readonly containerId: string;
  readonly podIp: string;
  readonly message: string;
  readonly reason: KillReason;
  readonly graceOverrideSeconds?: number | undefined;
  /** Resolves when the containers that must end before this one have ended. */
  readonly turn?: Promise<unknown> | undefined;
}

/** Runs the preStop hook, waits for the container's turn, and stops it; all inside one grace period. */
export async function killContainer(
  deps: KillDeps,
  request: KillContainerRequest,
  signal: AbortSignal,
): Promise<void> {
  const { pod, container, containerId } = request;
  deps.events.record(pod, {
    type: "Normal",
    reason: "Killing",
    message: request.message === "" ? `Stopping container ${container.name}` : request.message,
    container: { kind: request.kind, name: container.name },
  });
  let graceSeconds =
    request.graceOverrideSeconds ?? terminationGraceSeconds(pod, container, request.reason);
  if (container.lifecycle?.preStop !== undefined && graceSeconds > 0) {
    graceSeconds -= await secondsTaken(deps.clock, () =>
      runPreStop(deps, request, graceSeconds, signal),
    );
  }
  if (request.turn !== undefined && graceSeconds > 0) {
    const { turn } = request;
    graceSeconds -= await secondsTaken(deps.clock, () =>
      within(deps.clock, turn, graceSeconds * 1000, signal),
    );
  }
  try {
    await deps.runtime.stopContainer(containerId, stopTimeoutSeconds(graceSeconds), signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

// The hook's output may hold secrets: neither the event nor the log repeats it.
async function runPreStop(
  deps: KillDeps,
  request: KillContainerRequest,
  graceSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const preStop = request.container.lifecycle?.preStop;
  if (preStop === undefined) return;
  const stop = new AbortController();
  const hook = runHook(deps, request, preStop, AbortSignal.any([signal, stop.signal])).catch(() => {
    if (stop.signal.aborted || signal.aborted) return;
    deps.events.record(request.pod, {
      type: "Warning",
      reason: "FailedPreStopHook",
      message: "PreStopHook failed",
      container: { kind: request.kind, name: request.container.name },
    });
  });
  await within(deps.clock, hook, graceSeconds * 1000, signal);
  stop.abort();
  signal.throwIfAborted();
}

/** Waits for the promise, at most `ms`. */
async function within(
  clock: Clock,
  promise: Promise<unknown>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const timer = clock.sleep(ms, AbortSignal.any([signal, done.signal])).catch(() => undefined);
  await Promise.race([promise, timer]);
  done.abort();
}

async function secondsTaken(clock: Clock, work: () => Promise<void>): Promise<number> {
  const startedMs = clock.monotonicMs();
  await work();
  return Math.floor((clock.monotonicMs() - startedMs) / 1000);
}
