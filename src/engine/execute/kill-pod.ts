import type { ContainerKillReason } from "../../core/pod/step.ts";
import {
  stopTimeoutSeconds,
  terminationGraceSeconds,
} from "../../core/termination/grace-period.ts";
import { terminationOrder } from "../../core/termination/termination-order.ts";
import { isDoneWithin } from "../../lib/deadline.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { type ContainerId, type RuntimeContainerId, rawContainerId } from "../../model/ids.ts";
import type { ObservedContainer, ObservedPod } from "../../model/observed.ts";
import {
  type AnyContainer,
  type ContainerKind,
  findContainer,
  isSidecar,
  type Pod,
  podDisplayName,
} from "../../model/pod.ts";
import { isNotFound, runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { RecordedSpan } from "../../ports/sync-record.ts";
import { type HookDeps, runHook } from "./run-hook.ts";
import { startSpan } from "./span.ts";
import { cancelledFailure, type StepFailure, type StepReport } from "./step-report.ts";

const maxTurnMs = 5_000;
const sandboxStopsAtOnce = 64;

/** One for all pods. */
export function newSandboxStops(): Semaphore {
  return new Semaphore(sandboxStopsAtOnce);
}

export interface KillPodRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly graceOverrideSeconds?: number | undefined;
  readonly because: string;
}

/**
 * Stops every running container of a pod, sidecars last and in reverse, then its sandboxes. One container
 * that cannot be stopped does not keep the others from being stopped; sidecars wait for it to the end of the
 * grace period. When `signal` aborts, what was not stopped by then is reported as cancelled, once all calls have ended;
 * the sandboxes always are among it.
 */
export async function killPod(
  deps: KillDeps,
  request: KillPodRequest,
  signal: AbortSignal,
): Promise<StepReport[]> {
  const { clock } = deps;
  const { pod, observed, because } = request;
  const running = inStopOrder(
    pod,
    observed.containers.filter(({ state }) => state === "running"),
  );
  const waitsFor = terminationOrder(
    pod,
    running.map(({ name }) => name),
  );
  const ends = new Map(running.map(({ name }) => [name, new Ending()]));
  const reports = await Promise.all(
    running.map(async (container): Promise<StepReport> => {
      const { id, name } = container;
      const earlier = (waitsFor.get(name) ?? [])
        .map((other) => ends.get(other)?.promise)
        .filter((promise) => promise !== undefined);
      const startedAtMs = clock.nowMs();
      const startedMs = clock.monotonicMs();
      const spans: RecordedSpan[] = [];
      const kill = {
        pod,
        name,
        id,
        podIp: observed.ips[0] ?? "",
        message: "",
        reason: "Unknown",
        graceOverrideSeconds: request.graceOverrideSeconds,
        turn: earlier.length === 0 ? undefined : Promise.all(earlier),
        spans,
      } as const;
      const failure = await tryKillContainer(deps, kill, signal);
      if (failure === undefined) ends.get(name)?.resolve();
      const durationMs = clock.monotonicMs() - startedMs;
      const times = { startedAtMs, durationMs, spans };
      return { kind: "kill-container", target: name, because, failure, ...times };
    }),
  );
  return [...reports, await stopSandboxes(deps, request, signal)];
}

async function stopSandboxes(
  deps: KillDeps,
  { observed, because }: KillPodRequest,
  signal: AbortSignal,
): Promise<StepReport> {
  const { clock } = deps;
  const startedAtMs = clock.nowMs();
  const startedMs = clock.monotonicMs();
  let failure = signal.aborted ? cancelledFailure(signal) : undefined;
  for (const { id } of observed.sandboxes) {
    if (signal.aborted) break;
    try {
      await stopInTurn(deps, id, signal);
    } catch (error) {
      if (signal.aborted) failure = cancelledFailure(signal);
      else if (!isNotFound(error)) {
        failure = { code: "KillPodSandboxError", message: runtimeErrorText(error) };
      }
    }
  }
  const durationMs = clock.monotonicMs() - startedMs;
  return { kind: "kill-pod", target: observed.uid, because, failure, startedAtMs, durationMs };
}

/**
 * Of many sandboxes that are to stop at once a runtime stops all at the same, late time, and what is left to do for their
 * pods would come all at once after that. In turns it is done for the first while the runtime stops the next.
 */
async function stopInTurn(
  { runtime, clock, sandboxStops }: KillDeps,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const leave = await sandboxStops.enter(signal);
  const over = new AbortController();
  // One that hangs keeps no other from its turn.
  clock.sleep(maxTurnMs, over.signal).then(leave, leave);
  try {
    await runtime.stopPodSandbox(id, signal);
  } finally {
    over.abort();
  }
}

/** By name, and after them the sidecars from the last to the first: the order in which they are stopped. */
function inStopOrder(pod: Pod, running: readonly ObservedContainer[]): ObservedContainer[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  // A container that is not a sidecar has the place -1; the last sidecar comes first among them.
  const place = ({ name }: ObservedContainer): number =>
    sidecars.includes(name) ? sidecars.length - sidecars.indexOf(name) : -1;
  return running.toSorted((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1));
}

/** The end of one container, for those who wait for it. */
class Ending {
  readonly promise: Promise<void>;
  resolve: () => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }
}

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
  readonly reason: ContainerKillReason;
  readonly graceOverrideSeconds?: number | undefined;
  /** Resolves when the containers that must end before this one have ended. */
  readonly turn?: Promise<unknown> | undefined;
  /** Gets what it spent its time with. */
  readonly spans?: RecordedSpan[] | undefined;
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
        if (!signal.aborted) {
          recordFailedHook(deps, request);
          const fields = { pod: podDisplayName(pod), container: container.name, graceSeconds };
          deps.log.warn("a preStop hook does not end within the grace period", fields);
        }
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
    if (signal.aborted) return cancelledFailure(signal);
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
  const span = startSpan(deps.clock, "preStop hook");
  const run = async (): Promise<void> => {
    let how: { readonly failed: true } | undefined;
    try {
      await runHook(deps, request, preStop, signal);
    } catch {
      how = { failed: true };
    }
    if (isGivenUp) return;
    request.spans?.push(span.end(how));
    if (how !== undefined) recordFailedHook(deps, request);
  };
  const ended = run();
  return {
    ended,
    giveUp: () => {
      isGivenUp = true;
      request.spans?.push(span.end({ failed: true }));
    },
  };
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
