// Pod plans in the encoding of upstream's pod actions.
import type { PlanPodInput } from "../../src/core/pod/plan-input.ts";
import { planPod } from "../../src/core/pod/plan-pod.ts";
import type { PodPlan, StartContainerStep, Step } from "../../src/core/pod/step.ts";
import type { ResourceRequirements } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { ProbeResult } from "../../src/model/probe.ts";
import { plainPlanFacts } from "../kit/plan-facts.ts";
import { decodePodStatus, decodeProbeResults, type EncodedPodStatus } from "./encodings.ts";
import { type VectorDomain, vectorDomain } from "./vector-domain.ts";

export interface EncodedPlanInput {
  readonly pod: Pod;
  readonly podStatus: EncodedPodStatus;
  readonly restartAllContainers?: boolean;
  readonly livenessResults?: Readonly<Record<string, ProbeResult>>;
  readonly startupResults?: Readonly<Record<string, ProbeResult>>;
  readonly actuatedResources?: {
    readonly containers?: Readonly<Record<string, ResourceRequirements>>;
    readonly pod?: ResourceRequirements;
  };
}

/** The three domains of pod plans differ in their inputs only. */
export function podActionsDomain(name: string): VectorDomain {
  return vectorDomain<EncodedPlanInput>(name, (input) => encodePlan(planPod(decodeInput(input))));
}

export function decodeInput(input: EncodedPlanInput): PlanPodInput {
  return {
    pod: input.pod,
    observed: decodePodStatus(input.podStatus),
    livenessResults: decodeProbeResults(input.livenessResults),
    startupResults: decodeProbeResults(input.startupResults),
    restartAllContainers: input.restartAllContainers ?? false,
    actuatedResources: {
      containers: new Map(Object.entries(input.actuatedResources?.containers ?? {})),
      pod: input.actuatedResources?.pod,
    },
    // Upstream decides about back-offs and missing cgroups elsewhere.
    ...plainPlanFacts,
  };
}

function encodePlan({ steps, sandboxId, sandboxAttempt }: PodPlan): unknown {
  const all = steps.flatMap((step): Step[] =>
    step.kind === "kill-pod" ? [step, ...step.replaces] : [step],
  );
  const of = <Kind extends Step["kind"]>(kind: Kind) =>
    all.filter((step): step is Extract<Step, { kind: Kind }> => step.kind === kind);
  const indexes = (kind: StartContainerStep["kind"]) =>
    all.flatMap((step) => {
      const starts = step.kind === "wait" ? step.starts : step.kind;
      return starts === kind && "index" in step ? [step.index] : [];
    });
  const [resize] = of("resize");
  return {
    killPod: of("kill-pod").length > 0,
    createSandbox: of("create-sandbox").length > 0,
    sandboxID: sandboxId ?? "",
    attempt: sandboxAttempt,
    initContainersToStart: indexes("start-init"),
    containersToStart: indexes("start-container"),
    ephemeralContainersToStart: indexes("start-ephemeral"),
    containersToKill: of("kill-container")
      .map(({ containerId, name, message, reason }) => ({
        containerID: containerId,
        name,
        message,
        reason,
      }))
      .toSorted((a, b) => (a.containerID < b.containerID ? -1 : 1)),
    containersToUpdate: {
      cpu: resize?.updates.cpu.map(({ containerId, ...rest }) => ({
        containerID: containerId,
        ...rest,
      })),
      memory: resize?.updates.memory.map(({ containerId, ...rest }) => ({
        containerID: containerId,
        ...rest,
      })),
    },
    containersToReset: of("reset-container").map(({ containerId, name, kill }) => ({
      containerID: containerId,
      name,
      kill,
    })),
    updatePodResources: resize?.updatePodResources ?? false,
    updatePodLevelResources: resize?.updatePodLevelResources ?? false,
  };
}
