import type { ContainerKillReason } from "../../../src/core/pod/step.ts";
import {
  stopTimeoutSeconds,
  terminationGraceSeconds,
} from "../../../src/core/termination/grace-period.ts";
import { findContainer, type Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly containerName: string;
  readonly reason: ContainerKillReason;
  readonly gracePeriodOverride: number | null;
}

export const killGrace: VectorDomain = vectorDomain<Input>("kill-grace", (input) => {
  const container = findContainer(input.pod, input.containerName)?.container;
  if (container === undefined) throw new Error(`the pod has no container ${input.containerName}`);
  const graceSeconds = terminationGraceSeconds(input.pod, container, input.reason);
  return {
    gracePeriodBeforeOverride: graceSeconds,
    stopContainerTimeout: stopTimeoutSeconds(input.gracePeriodOverride ?? graceSeconds),
  };
});
