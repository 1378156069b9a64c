import { terminationOrder } from "../../core/termination/termination-order.ts";
import { errorText } from "../../lib/error-text.ts";
import type { ObservedContainer, ObservedPod } from "../../model/observed.ts";
import { findContainer, type Pod } from "../../model/pod.ts";
import { isNotFound } from "../../model/runtime-error.ts";
import { rawContainerId } from "./container-id.ts";
import { type KillDeps, killContainer } from "./kill-container.ts";
import type { StepReport } from "./step-report.ts";

export interface KillPodRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly graceOverrideSeconds?: number | undefined;
  readonly because: string;
}

/**
 * Stops every running container of a pod, sidecars last and in reverse, then its sandboxes. One container
 * that cannot be stopped does not keep the others from being stopped.
 */
export async function killPod(
  deps: KillDeps,
  request: KillPodRequest,
  signal: AbortSignal,
): Promise<StepReport[]> {
  const { pod, observed, because } = request;
  const running = observed.containers.filter(({ state }) => state === "running");
  const waitsFor = terminationOrder(
    pod,
    running.map(({ name }) => name),
  );
  const ends = new Map<string, { readonly promise: Promise<void>; readonly end: () => void }>();
  for (const { name } of running) ends.set(name, ending());

  const reports = await Promise.all(
    running.map(async (container): Promise<StepReport> => {
      const report = { action: "KillContainer", target: container.name, because } as const;
      const earlier = (waitsFor.get(container.name) ?? []).map((name) => ends.get(name)?.promise);
      const startedMs = deps.clock.monotonicMs();
      const failure = await killOne(deps, request, container, Promise.all(earlier), signal);
      ends.get(container.name)?.end();
      return { ...report, failure, durationMs: deps.clock.monotonicMs() - startedMs };
    }),
  );
  return [...reports, await stopSandboxes(deps, request, signal)];
}

async function killOne(
  deps: KillDeps,
  request: KillPodRequest,
  container: ObservedContainer,
  turn: Promise<unknown>,
  signal: AbortSignal,
): Promise<StepReport["failure"]> {
  const placed = findContainer(request.pod, container.name);
  try {
    await killContainer(
      deps,
      {
        pod: request.pod,
        // A container that the spec no longer has is stopped all the same, with the pod's grace period.
        container: placed?.container ?? { name: container.name },
        kind: placed?.kind ?? "regular",
        containerId: rawContainerId(container.id),
        podIp: request.observed.ips[0] ?? "",
        message: "",
        reason: "Unknown",
        graceOverrideSeconds: request.graceOverrideSeconds,
        turn,
      },
      signal,
    );
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return { code: "KillContainerError", message: errorText(error) };
  }
}

async function stopSandboxes(
  { runtime, clock }: KillDeps,
  { observed, because }: KillPodRequest,
  signal: AbortSignal,
): Promise<StepReport> {
  const startedMs = clock.monotonicMs();
  let failure: StepReport["failure"];
  for (const { id } of observed.sandboxes) {
    try {
      await runtime.stopPodSandbox(id, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error)) failure = { code: "KillPodSandboxError", message: errorText(error) };
    }
  }
  const durationMs = clock.monotonicMs() - startedMs;
  return { action: "KillPodSandbox", target: observed.uid, because, failure, durationMs };
}

function ending(): { readonly promise: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
}
