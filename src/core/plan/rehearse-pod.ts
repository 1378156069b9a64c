// Plays a pod's start through with the real plan, on a runtime where everything succeeds.

import { containerId } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedContainer } from "../../model/observed.ts";
import { findContainer, isSidecar, type Pod, podContainers } from "../../model/pod.ts";
import { containerHash } from "../container/container-hash.ts";
import type { PlanPodInput } from "../pod/plan-input.ts";
import { planPod } from "../pod/plan-pod.ts";
import type { CreateSandboxStep, StartContainerStep, Step } from "../pod/step.ts";
import { crashLoopLimits } from "../restart/crash-loop-backoff.ts";

/** All steps from nothing to a running pod, in their order. */
export function rehearsePod(pod: Pod): readonly Step[] {
  const { uid, name, namespace } = pod.metadata;
  let input: PlanPodInput = {
    pod,
    observed: emptyObservedPod(uid, name, namespace),
    nowMs: 0,
    livenessResults: new Map(),
    startupResults: new Map(),
    restartAllContainers: false,
    actuatedResources: {
      containers: new Map(
        podContainers(pod).map(({ container }) => [container.name, container.resources ?? {}]),
      ),
      pod: pod.spec.resources,
    },
    restarts: { history: new Map(), limits: crashLoopLimits },
    runsOutsideCgroup: false,
  };
  const steps: Step[] = [];
  // Each plan starts one init container at least, so there are no more plans than containers.
  for (let plans = 0; plans <= podContainers(pod).length; plans++) {
    const planned = planPod(input).steps;
    if (planned.length === 0) break;
    // Where nothing runs there is nothing to stop.
    steps.push(...planned.filter(({ kind }) => kind !== "kill-pod"));
    input = planned.reduce(carryOut, input);
  }
  return steps;
}

function carryOut(input: PlanPodInput, step: Step): PlanPodInput {
  switch (step.kind) {
    case "create-sandbox":
      return withSandbox(input, step);
    case "start-init":
    case "start-container":
    case "start-ephemeral":
      return withContainer(input, step);
    case "kill-pod":
    case "kill-container":
    case "reset-container":
    case "remove-container":
    case "stop-sandbox":
    case "remove-sandbox":
    case "resize":
    case "wait":
      return input;
    default:
      return step satisfies never;
  }
}

function withSandbox(input: PlanPodInput, { attempt }: CreateSandboxStep): PlanPodInput {
  const sandbox = {
    id: "sandbox",
    state: "ready",
    attempt,
    createdAtMs: 0,
    network: input.pod.spec.hostNetwork === true ? "node" : "pod",
    // Any address: that there is one is what counts.
    ips: ["192.0.2.1"],
  } as const;
  return { ...input, observed: { ...input.observed, sandboxes: [sandbox] } };
}

/** Init containers succeed at once; all others run and pass their startup probes. */
function withContainer(input: PlanPodInput, { kind, name }: StartContainerStep): PlanPodInput {
  const container = findContainer(input.pod, name)?.container;
  if (container === undefined) return input;
  const ends = kind === "start-init" && !isSidecar(container);
  const seen: ObservedContainer = {
    id: containerId(`rehearsal://${name}`),
    name,
    state: ends ? "exited" : "running",
    exitCode: 0,
    image: container.image ?? "",
    imageId: "",
    imageRef: "",
    hash: containerHash(container),
    restartCount: 0,
    reason: "",
    message: "",
  };
  const { observed } = input;
  return {
    ...input,
    observed: { ...observed, containers: [seen, ...observed.containers] },
    startupResults: new Map(input.startupResults).set(seen.id, "Success"),
  };
}
