import type { SimCall } from "../../../src/drivers/sim/sim-runtime.ts";
import { kubeletAction, type StepReport } from "../../../src/engine/execute/step-report.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import { type Pod, podDisplayName } from "../../../src/model/pod.ts";
import { ExecutorWorld } from "../../sim/executor-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly steps: readonly VectorStep[];
}

type VectorStep =
  | { readonly op: "sync"; readonly now: number; readonly restartAllContainers: boolean }
  | {
      readonly op: "exit";
      readonly now: number;
      readonly container: string;
      readonly exitCode: number;
    }
  | { readonly op: "sandboxDied"; readonly now: number }
  | { readonly op: "setImage"; readonly container: string; readonly image: string }
  | { readonly op: "containerGarbageCollected"; readonly container: string }
  | { readonly op: "killPod"; readonly gracePeriodOverride: number | null };

async function run(input: Input): Promise<unknown> {
  const world = new ExecutorWorld();
  let { pod } = input;
  const steps: unknown[] = [];
  for (const step of input.steps) {
    if ("now" in step) await world.clock.advance(step.now * 1000 - world.clock.monotonicMs());
    if (step.op === "setImage") pod = withImage(pod, step.container, step.image);
    world.runtime.calls.length = 0;
    steps.push(await runStep(world, pod, step));
  }
  return { steps };
}

async function runStep(world: ExecutorWorld, pod: Pod, step: VectorStep): Promise<unknown> {
  const { runtime } = world;
  switch (step.op) {
    case "sync":
      return encodeSync(pod, await world.sync(pod, step), runtime.calls);
    case "killPod":
      await world.kill(pod, step.gracePeriodOverride ?? undefined);
      return { calls: runtime.calls.map(encodeCall) };
    case "exit":
      runtime.findContainer(step.container)?.end(step.exitCode);
      return {};
    case "sandboxDied":
      runtime.crashSandbox();
      return {};
    case "containerGarbageCollected": {
      const id = runtime.findContainer(step.container)?.place.id ?? "";
      await runtime.removeContainer(runtimeContainerId(id), new AbortController().signal);
      return {};
    }
    case "setImage":
      return {};
  }
}

/**
 * Upstream removes ended init containers, and stops single containers, in no defined order; the vectors have
 * them by name and attempt. A reset and a pod's end have an order of their own.
 */
function encodeSync(
  pod: Pod,
  reports: readonly StepReport[],
  calls: readonly SimCall[],
): { readonly calls: unknown; readonly syncResults: unknown } {
  const has = (kind: StepReport["kind"]) => reports.some((one) => one.kind === kind);
  const removed = has("reset-container") ? calls : sortedRun(calls, isCall("RemoveContainer"));
  const endsPod = has("kill-pod") || has("reset-container");
  const stopped = endsPod ? removed : sortedRun(removed, isCall("StopContainer"));
  // Upstream does not report the removal of ended init containers.
  const named = reports
    .filter(({ kind }) => kind !== "remove-container")
    .map((report) => ({ ...report, name: report.target }));
  const results = endsPod ? named : sortedRun(named, isKill);
  return {
    calls: stopped.map(encodeCall),
    syncResults: results.map((report) => encodeReport(pod, report)),
  };
}

function isKill({ kind }: StepReport): boolean {
  return kind === "kill-container";
}

function isCall(method: string): (call: SimCall) => boolean {
  return (call) => call.method === method;
}

/** The list with those items in order that stand together in it. */
function sortedRun<T extends { readonly name?: string | undefined; readonly attempt?: number }>(
  items: readonly T[],
  isOfRun: (item: T) => boolean,
): readonly T[] {
  const run = items.filter(isOfRun).toSorted((a, b) => {
    if (a.name !== b.name) return (a.name ?? "") < (b.name ?? "") ? -1 : 1;
    return (a.attempt ?? 0) - (b.attempt ?? 0);
  });
  const first = items.findIndex(isOfRun);
  return first < 0 ? items : items.toSpliced(first, run.length, ...run);
}

function encodeCall({ method: call, name, attempt, ...rest }: SimCall): unknown {
  switch (call) {
    case "CreateContainer":
      return { call, name, attempt, ...rest };
    case "StopContainer":
      return { call, name, attempt, timeout: rest.timeoutSeconds };
    default:
      return { call, name, attempt };
  }
}

function encodeReport(pod: Pod, { kind, target, failure }: StepReport): unknown {
  return {
    action: kubeletAction({ kind, failure }),
    target: target === podDisplayName(pod) ? "<pod>" : target,
    ...(failure === undefined ? {} : { error: failure.code, message: failure.message }),
  };
}

function withImage(pod: Pod, name: string, image: string): Pod {
  const change = <T extends { readonly name: string }>(containers: readonly T[] = []): T[] =>
    containers.map((one) => (one.name === name ? { ...one, image } : one));
  const initContainers = change(pod.spec.initContainers);
  const containers = change(pod.spec.containers);
  return { ...pod, spec: { ...pod.spec, initContainers, containers } };
}

export const syncPodCri: VectorDomain = vectorDomain<Input>("sync-pod-cri", run);
