// A runtime in miniature: what a pod plan does to the world when every step succeeds.

import { containerHash } from "../../src/core/container/container-hash.ts";
import type { PlanPodInput } from "../../src/core/pod/plan-input.ts";
import type {
  PodPlan,
  RemoveSandboxStep,
  ResizeStep,
  StartContainerStep,
  Step,
  StopSandboxStep,
} from "../../src/core/pod/step.ts";
import { assertNever } from "../../src/lib/assert.ts";
import { containerId } from "../../src/model/ids.ts";
import type { ObservedContainer, ObservedPod } from "../../src/model/observed.ts";
import { type AnyContainer, findContainer, isSidecar } from "../../src/model/pod.ts";

/** The input of the next plan: init containers succeed at once, all others run and pass their probes. */
export function carryOut(input: PlanPodInput, plan: PodPlan): PlanPodInput {
  return plan.steps.reduce(carryOutStep, input);
}

export function runningContainer(
  container: AnyContainer,
  id: string = container.name,
): ObservedContainer {
  return {
    id: containerId(`runtime://${id}`),
    name: container.name,
    state: "running",
    exitCode: 0,
    image: container.image ?? "",
    imageId: "",
    imageRef: "",
    hash: containerHash(container),
    restartCount: 0,
    reason: "",
    message: "",
  };
}

export function exitedContainer(container: AnyContainer, exitCode: number): ObservedContainer {
  return { ...runningContainer(container), state: "exited", exitCode };
}

function carryOutStep(input: PlanPodInput, step: Step): PlanPodInput {
  const { observed } = input;
  const withContainers = (containers: readonly ObservedContainer[]): PlanPodInput => ({
    ...input,
    observed: { ...observed, containers },
  });
  switch (step.kind) {
    case "kill-pod":
      return { ...input, observed: stopAll(input, step.startsOver) };
    case "kill-container":
      return withContainers(
        observed.containers.map((one) => (one.id === step.containerId ? stopped(one) : one)),
      );
    case "wait":
      return input;
    case "stop-sandbox":
    case "remove-sandbox":
      return { ...input, observed: withoutSandbox(observed, step) };
    case "remove-container":
    case "reset-container":
      return withContainers(observed.containers.filter(({ id }) => id !== step.containerId));
    case "create-sandbox": {
      const network = input.pod.spec.hostNetwork === true ? "node" : "pod";
      const { attempt } = step;
      const id = `sandbox-${attempt}`;
      const state = "ready";
      const sandbox = { id, state, attempt, createdAtMs: 0, network, ips: ["10.0.0.9"] } as const;
      return { ...input, observed: { ...observed, sandboxes: [sandbox, ...observed.sandboxes] } };
    }
    case "resize":
      return resized(input, step);
    case "start-ephemeral":
    case "start-init":
    case "start-container":
      return started(input, step);
    default:
      return assertNever(step);
  }
}

function stopped(container: ObservedContainer): ObservedContainer {
  return container.state === "exited"
    ? container
    : { ...container, state: "exited", exitCode: 143 };
}

function stopAll({ pod, observed }: PlanPodInput, startsOver: boolean): ObservedPod {
  const initNames = new Set((pod.spec.initContainers ?? []).map(({ name }) => name));
  return {
    ...observed,
    containers: observed.containers
      .map(stopped)
      .filter(({ name }) => !startsOver || !initNames.has(name)),
    sandboxes: observed.sandboxes.map((sandbox) => ({ ...sandbox, state: "notReady" })),
  };
}

function withoutSandbox(
  observed: ObservedPod,
  { kind, sandboxId }: StopSandboxStep | RemoveSandboxStep,
): ObservedPod {
  const sandboxes = observed.sandboxes.flatMap((sandbox) => {
    if (sandbox.id !== sandboxId) return [sandbox];
    return kind === "stop-sandbox" ? [{ ...sandbox, state: "notReady" as const }] : [];
  });
  return { ...observed, sandboxes };
}

function started(input: PlanPodInput, { kind, name }: StartContainerStep): PlanPodInput {
  const container = findContainer(input.pod, name)?.container;
  if (container === undefined) throw new Error(`the plan starts ${name}, which the pod lacks`);
  const { observed, actuatedResources } = input;
  const running = runningContainer(container, `${name}-${observed.containers.length}`);
  const seen =
    kind === "start-init" && !isSidecar(container)
      ? { ...running, state: "exited" as const }
      : running;
  return {
    ...input,
    observed: { ...observed, containers: [seen, ...observed.containers] },
    livenessResults: new Map(input.livenessResults).set(seen.id, "Success"),
    startupResults: new Map(input.startupResults).set(seen.id, "Success"),
    actuatedResources: {
      ...actuatedResources,
      containers: new Map(actuatedResources.containers).set(name, container.resources ?? {}),
    },
  };
}

function resized(
  input: PlanPodInput,
  { updates, updatePodLevelResources }: ResizeStep,
): PlanPodInput {
  const containers = new Map(input.actuatedResources.containers);
  for (const { name } of [...updates.cpu, ...updates.memory]) {
    containers.set(name, findContainer(input.pod, name)?.container.resources ?? {});
  }
  const pod = updatePodLevelResources ? input.pod.spec.resources : input.actuatedResources.pod;
  return { ...input, actuatedResources: { containers, pod } };
}
