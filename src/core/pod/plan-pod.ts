import { findObserved } from "../../model/observed.ts";
import { withoutLeftovers } from "../observe/classify-pod.ts";
import type { ContainerDecision } from "./container-decision.ts";
import { type ContainersPlan, planContainers } from "./plan-containers.ts";
import { planInitContainers } from "./plan-init-containers.ts";
import type { PlanPodInput } from "./plan-input.ts";
import { planNewSandbox } from "./plan-new-sandbox.ts";
import { planLeftovers, planPruning } from "./plan-removals.ts";
import { planReset } from "./plan-reset.ts";
import { planResize } from "./plan-resize.ts";
import { planStart } from "./plan-starts.ts";
import { decideSandbox, type SandboxDecision } from "./sandbox-decision.ts";
import type { KillPodStep, PodPlan, StartContainerStep, Step } from "./step.ts";

/** Everything that is done to the pod in the runtime, in order, and when to sync again. */
export function planPod(input: PlanPodInput): PodPlan {
  const known = { ...input, observed: withoutLeftovers(input.observed) };
  const sandbox = decideSandbox(known.pod, known.observed);
  const steps = [...planKnown(known, sandbox), ...planLeftovers(input.observed)];
  const waits = steps.flatMap((step) => (step.kind === "wait" ? (step.untilMs ?? []) : []));
  return {
    steps,
    sandboxId: sandbox.sandboxId,
    sandboxAttempt: sandbox.attempt,
    recheckAtMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

function planKnown(input: PlanPodInput, sandbox: SandboxDecision): Step[] {
  if (input.runsOutsideCgroup) return [endPod("its containers run outside the pod's cgroup", [])];
  const { pod, observed } = input;
  const steps = planSteps(input, sandbox);
  const stops = steps.filter(({ kind }) => stopping.has(kind));
  const kill = stops.find((step) => step.kind === "kill-pod");
  const pruned = planPruning(pod, observed, kill?.startsOver === true);
  const removed = new Set(pruned.map(({ containerId }) => containerId));
  const starts = steps.flatMap((step) => {
    if (stopping.has(step.kind)) return [];
    return isStart(step) ? planStart(input, step, kill !== undefined) : [step];
  });
  return [
    ...stops,
    ...pruned,
    ...starts.filter((step) => step.kind !== "remove-container" || !removed.has(step.containerId)),
  ];
}

const stopping: ReadonlySet<Step["kind"]> = new Set([
  "kill-pod",
  "kill-container",
  "reset-container",
]);

function isStart(step: Step): step is StartContainerStep {
  return (
    step.kind === "start-ephemeral" || step.kind === "start-init" || step.kind === "start-container"
  );
}

/** What the pod as it is known asks for, whether or not it may happen now. */
function planSteps(input: PlanPodInput, sandbox: SandboxDecision): Step[] {
  if (input.restartAllContainers) return planRestartAll(input, sandbox);
  if (sandbox.kind === "create") return planNewSandbox(input.pod, input.observed, sandbox);
  const ephemeral = planEphemeralContainers(input);
  const init = planInitContainers(input);
  if (init.kind === "failed") return [endPod(init.because, []), ...ephemeral];
  const regular = init.initialized ? planContainers(input) : undefined;
  return combine(input, ephemeral, init.decisions, regular);
}

/** `regular` is undefined while the pod initializes. */
function combine(
  input: PlanPodInput,
  ephemeral: readonly StartContainerStep[],
  initDecisions: readonly ContainerDecision[],
  regular: ContainersPlan | undefined,
): Step[] {
  const regularDecisions = regular?.decisions ?? [];
  // Sidecars serve the others: they are stopped after them, the last one first.
  const kills = each([...regularDecisions, ...initDecisions.toReversed()], ({ kill }) => kill);
  const finished = regular?.finished === true;
  const resize = planResize(input, { init: initDecisions, regular: regular?.decisions });
  return [
    ...(finished ? [endPod("no container runs and none is to be started again", kills)] : kills),
    // Before any start: a pod's cgroup must have grown when a container of its new size starts in it.
    ...(resize === undefined ? [] : [resize]),
    ...ephemeral,
    // A sidecar alone must not keep a finished pod alive.
    ...(finished ? [] : each(initDecisions, ({ start }) => start)),
    ...each(regularDecisions, ({ start }) => start),
  ];
}

function planRestartAll(input: PlanPodInput, sandbox: SandboxDecision): Step[] {
  const resets = planReset(input);
  if (sandbox.kind === "keep") return resets;
  const { attempt, because } = sandbox;
  return [
    { kind: "kill-pod", startsOver: true, replaces: resets, because },
    { kind: "create-sandbox", attempt, because },
  ];
}

/** An ephemeral container starts once, even before the pod has initialized. */
function planEphemeralContainers({ pod, observed }: PlanPodInput): StartContainerStep[] {
  return (pod.spec.ephemeralContainers ?? []).flatMap(({ name }, index) => {
    const seen = findObserved(observed, name);
    if (seen !== undefined && seen.state !== "created") return [];
    const how = seen === undefined ? "added and has not run" : "created but never started";
    const because = `ephemeral container ${name} was ${how}`;
    return [{ kind: "start-ephemeral", index, name, because }];
  });
}

function endPod(because: string, replaces: KillPodStep["replaces"]): KillPodStep {
  return { kind: "kill-pod", startsOver: false, replaces, because };
}

function each<T>(
  decisions: readonly ContainerDecision[],
  part: (decision: ContainerDecision) => T | undefined,
): T[] {
  return decisions.map(part).filter((found) => found !== undefined);
}
