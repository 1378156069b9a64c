import type { KillReason } from "../../core/pod/step.ts";
import {
  stopTimeoutSeconds,
  terminationGraceSeconds,
} from "../../core/termination/grace-period.ts";
import { isDoneWithin } from "../../lib/deadline.ts";
import type { Semaphore } from "../../lib/semaphore.ts";
import type { RuntimeContainerId } from "../../model/ids.ts";
import { type ContainerId, rawContainerId } from "../../model/ids.ts";
import {
  type AnyContainer,
  type ContainerKind,
  findContainer,
  type Pod,
  podDisplayName,
} from "../../model/pod.ts";
import { isNotFound, runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import { type HookDeps, runHook } from "./run-hook.ts";
import type { StepFailure } from "./step-report.ts";

export interface KillDeps extends HookDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    "execSync" | "stopContainer" | "stopPodSandbox" | "containerStatus"
  >;
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly log: Log;
  readonly sandboxStops: Semaphore;
}

export interface KillContainerRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly kind: ContainerKind;
  /** The runtime's id, without prefix. */
  readonly containerId: RuntimeContainerId;
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
  const { clock, runtime } = deps;
  const { pod, container, turn } = request;
  record(deps, request, {
    type: "Normal",
    reason: "Killing",
    message: request.message === "" ? `Stopping container ${container.name}` : request.message,
  });
  const graceSeconds =
    request.graceOverrideSeconds ?? terminationGraceSeconds(pod, container, request.reason);
  const startedMs = clock.monotonicMs();
  const leftMs = (): number => startedMs + graceSeconds * 1000 - clock.monotonicMs();
  // A late hook goes on while its container does, through the last seconds that the runtime grants.
  const over = new AbortController();
  try {
    if (container.lifecycle?.preStop !== undefined && leftMs() > 0) {
      const hook = runPreStop(deps, request, over.signal);
      if (!(await isDoneWithin(clock, hook.ended, leftMs(), signal))) {
        hook.giveUp();
        if (!signal.aborted) noteLateHook(deps, request, graceSeconds);
      }
    }
    if (turn !== undefined && leftMs() > 0) await isDoneWithin(clock, turn, leftMs(), signal);
    signal.throwIfAborted();
    // Runtimes count whole seconds; a broken one is the container's.
    const timeoutSeconds = stopTimeoutSeconds(Math.ceil(leftMs() / 1000));
    await runtime.stopContainer(request.containerId, timeoutSeconds, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  } finally {
    over.abort();
  }
}

/** The same by name, also for a container that the spec no longer has: it has the pod's grace period. Returns what failed. */
export async function tryKillContainer(
  deps: KillDeps,
  request: Omit<KillContainerRequest, "container" | "kind" | "containerId"> & {
    readonly name: string;
    readonly id: ContainerId;
  },
  signal: AbortSignal,
): Promise<StepFailure | undefined> {
  const { name, id, ...how } = request;
  const { container = { name }, kind = "regular" } = findContainer(request.pod, name) ?? {};
  try {
    const containerId = rawContainerId(id);
    await killContainer(deps, { ...how, container, kind, containerId }, signal);
    return undefined;
  } catch (error) {
    return { code: "KillContainerError", message: runtimeErrorText(error) };
  }
}

/** Starts the hook; once it has timed out, its result is ignored. */
function runPreStop(
  deps: KillDeps,
  request: KillContainerRequest,
  signal: AbortSignal,
): { readonly ended: Promise<void>; readonly giveUp: () => void } {
  let isGivenUp = false;
  const { preStop = {} } = request.container.lifecycle ?? {};
  const ended = runHook(deps, request, preStop, signal).catch(() => {
    if (!isGivenUp) recordFailedHook(deps, request);
  });
  return {
    ended,
    giveUp: () => {
      isGivenUp = true;
    },
  };
}

function noteLateHook(deps: KillDeps, request: KillContainerRequest, graceSeconds: number): void {
  recordFailedHook(deps, request);
  deps.log.warn("a preStop hook does not end within the grace period", {
    pod: podDisplayName(request.pod),
    container: request.container.name,
    graceSeconds,
  });
}

// The hook's output may hold secrets: neither the event nor the log repeats it.
function recordFailedHook(deps: KillDeps, request: KillContainerRequest): void {
  record(deps, request, {
    type: "Warning",
    reason: "FailedPreStopHook",
    message: "PreStopHook failed",
  });
}

function record(
  { events }: KillDeps,
  { pod, kind, container }: KillContainerRequest,
  event: { readonly type: "Normal" | "Warning"; readonly reason: string; readonly message: string },
): void {
  events.record(pod, { ...event, container: { kind, name: container.name } });
}
