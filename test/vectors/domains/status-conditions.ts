import { decideSandbox } from "../../../src/core/pod/sandbox-decision.ts";
import {
  containersReadyCondition,
  initializedCondition,
  readyCondition,
  readyToStartContainersCondition,
} from "../../../src/core/status/conditions.ts";
import type {
  ContainerStatus,
  PodCondition,
  PodStatus,
} from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { decodePodStatus, type EncodedPodStatus, withoutNulls } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly oldStatus: PodStatus;
  readonly containerStatuses: readonly ContainerStatus[] | null;
  readonly conditions: readonly PodCondition[] | null;
  readonly phase: string;
  readonly podStatus: EncodedPodStatus;
}

export const statusConditions: VectorDomain = vectorDomain<Input>("status-conditions", (input) => {
  const { pod, oldStatus, phase } = withoutNulls(input);
  const statuses = withoutNulls(input.containerStatuses) ?? undefined;
  const sandbox = decideSandbox(pod, decodePodStatus(input.podStatus));
  return {
    containersReady: containersReadyCondition(pod, statuses, phase),
    ready: readyCondition(pod, input.conditions ?? [], statuses, phase),
    initialized: initializedCondition(pod, oldStatus, statuses, phase),
    podReadyToStartContainers: readyToStartContainersCondition(pod, sandbox.kind === "keep"),
  };
});
