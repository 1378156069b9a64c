import { terminationOrder } from "../../core/termination/termination-order.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { ObservedContainer, ObservedPod } from "../../model/observed.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { isNotFound, runtimeErrorText } from "../../model/runtime-error.ts";
import type { KillDeps } from "./kill-container.ts";
import { tryKillContainer } from "./kill-container.ts";
import type { StepFailure, StepReport } from "./step-report.ts";

const maxTurnMs = 5_000;
const sandboxStopsAtOnce = 16;

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
 * grace period. Rejects when `signal` aborts, once all calls have ended.
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
      const startedMs = clock.monotonicMs();
      const kill = {
        pod,
        name,
        id,
        podIp: observed.ips[0] ?? "",
        message: "",
        reason: "Unknown",
        graceOverrideSeconds: request.graceOverrideSeconds,
        turn: earlier.length === 0 ? undefined : Promise.all(earlier),
      } as const;
      const failure = await tryKillContainer(deps, kill, signal);
      if (failure === undefined) ends.get(name)?.resolve();
      const durationMs = clock.monotonicMs() - startedMs;
      return { kind: "kill-container", target: name, because, failure, durationMs };
    }),
  );
  signal.throwIfAborted();
  return [...reports, await stopSandboxes(deps, request, signal)];
}

async function stopSandboxes(
  deps: KillDeps,
  { observed, because }: KillPodRequest,
  signal: AbortSignal,
): Promise<StepReport> {
  const { clock } = deps;
  const startedMs = clock.monotonicMs();
  let failure: StepFailure | undefined;
  for (const { id } of observed.sandboxes) {
    try {
      await stopInTurn(deps, id, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isNotFound(error)) continue;
      failure = { code: "KillPodSandboxError", message: runtimeErrorText(error) };
    }
  }
  const durationMs = clock.monotonicMs() - startedMs;
  return { kind: "kill-pod", target: observed.uid, because, failure, durationMs };
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
