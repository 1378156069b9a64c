import type { ContainerStatus, PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import type { ObservedPod, ObservedResources } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { decideSandbox } from "../pod/sandbox-decision.ts";
import { podQosClass } from "../resource/qos.ts";
import { addressStatus, type IpFamily, podIps } from "./addresses.ts";
import { findCondition, isKubeletCondition, withCondition } from "./condition-list.ts";
import {
  containersReadyCondition,
  initializedCondition,
  readyCondition,
  readyToStartContainersCondition,
  scheduledCondition,
} from "./conditions.ts";
import { containerStatuses, type StartFailure } from "./container-statuses.ts";
import { isTerminalPhase, podPhase } from "./phase.ts";
import { podResourcesStatus } from "./pod-resources-status.ts";
import { type ProbedStatuses, type ProbeView, probedStatuses } from "./probed-readiness.ts";
import { couldRestartAll, isRestartingAll, restartingAllCondition } from "./restart-all.ts";

export interface PodStatusInput {
  /** With the allocated spec, and with the status that the API server holds. */
  readonly pod: Pod;
  readonly observed: ObservedPod;
  /** What the status manager last cached. */
  readonly cachedStatus?: PodStatus | undefined;
  /** Nothing of the pod will be started any more. */
  readonly isTerminal: boolean;
  /** By container name. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  readonly probes: ProbeView;
  /** Set when the pod has to fail, for instance because its active deadline is over. */
  readonly eviction?: { readonly reason: string; readonly message: string } | undefined;
  readonly resizeConditions: readonly PodCondition[];
  /** At most two, the primary one first; empty while the node has none. */
  readonly hostIps: readonly string[];
  readonly primaryIpFamily: IpFamily;
  /** What the pod's cgroup is set to, as far as it could be read. */
  readonly podCgroup?: ObservedResources | undefined;
  /** Whether the pod's runtime handler can make mounts read-only with all mounts below them. */
  readonly supportsRecursiveReadOnly: boolean;
}

export interface ComputedPodStatus {
  /** Transition times are the status manager's business. */
  readonly status: PodStatus;
  /** Containers whose readiness is in doubt: their readiness probe should run at once. */
  readonly probeNow: readonly string[];
}

/** The whole API status of a pod from its spec, what the runtime shows and what was reported before. */
export function computePodStatus(input: PodStatusInput): ComputedPodStatus {
  const { pod, observed } = input;
  const oldStatus = input.cachedStatus ?? pod.status ?? {};
  const all = allContainerStatuses(input, oldStatus);
  const phase = phaseStatus(input, oldStatus, all);
  const probed = probedStatuses(pod, input.probes, all);
  const ips = podIps(observed.ips, input.primaryIpFamily);
  const status: PodStatus = {
    ...phase,
    conditions: podConditions(input, oldStatus, probed, phase.phase),
    ...addressStatus(pod, ips, input.hostIps),
    initContainerStatuses: probed.initContainerStatuses,
    containerStatuses: probed.containerStatuses,
    ephemeralContainerStatuses: all.ephemeralContainerStatuses,
    qosClass: podQosClass(pod),
    ...podResourcesStatus(pod, oldStatus, input.podCgroup),
  };
  return { status, probeNow: probed.probeNow };
}

interface AllContainerStatuses {
  readonly containerStatuses: readonly ContainerStatus[];
  readonly initContainerStatuses: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses: readonly ContainerStatus[];
}

function allContainerStatuses(input: PodStatusInput, oldStatus: PodStatus): AllContainerStatuses {
  const circumstances = {
    ...input,
    isRestartingAll: isRestartingAll(input.pod, input.observed, oldStatus),
  };
  return {
    containerStatuses: containerStatuses(circumstances, "regular", oldStatus.containerStatuses),
    initContainerStatuses: containerStatuses(
      circumstances,
      "init",
      oldStatus.initContainerStatuses,
    ),
    ephemeralContainerStatuses: containerStatuses(
      circumstances,
      "ephemeral",
      oldStatus.ephemeralContainerStatuses,
    ),
  };
}

/** The phase with its reason and message. A terminal phase, once known here or to the API, is final. */
function phaseStatus(
  { pod, observed, isTerminal, eviction }: PodStatusInput,
  oldStatus: PodStatus,
  { containerStatuses, initContainerStatuses }: AllContainerStatuses,
): Pick<PodStatus, "phase" | "reason" | "message"> {
  const apiStatus = pod.status ?? {};
  const computed = podPhase(pod, [...containerStatuses, ...initContainerStatuses], {
    isTerminal,
    hasInitialized: hasActiveRegularContainer(pod, observed),
  });
  const known = [computed, oldStatus.phase, apiStatus.phase].find(isTerminalPhase) ?? computed;
  const kept =
    known === oldStatus.phase
      ? {
          reason: oldStatus.reason || apiStatus.reason,
          message: oldStatus.message || apiStatus.message,
        }
      : {};
  const { reason, message } = eviction ?? kept;
  const phase = eviction === undefined ? known : "Failed";
  return {
    phase: isTerminalPhase(apiStatus.phase) ? apiStatus.phase : phase,
    reason: reason || undefined,
    message: message || undefined,
  };
}

function hasActiveRegularContainer(pod: Pod, observed: ObservedPod): boolean {
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  const active = new Set(observed.activeContainerIds);
  return observed.containers.some(({ id, name }) => active.has(id) && regular.has(name));
}

/** Others' conditions as the API has them, then the node's own. */
function podConditions(
  { pod, observed, isTerminal, resizeConditions }: PodStatusInput,
  oldStatus: PodStatus,
  { initContainerStatuses, containerStatuses }: ProbedStatuses,
  phase: string | undefined,
): PodCondition[] {
  const statuses = [...initContainerStatuses, ...containerStatuses];
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !isKubeletCondition(type));
  const resize = isTerminal ? [] : resizeConditions.map((each) => resizeCondition(pod, each));
  const disruption = findCondition(oldStatus.conditions, "DisruptionTarget");
  const kept = [...others, ...resize];
  const base = [
    ...(disruption === undefined ? kept : withCondition(kept, disruption)),
    readyToStartContainersCondition(pod, decideSandbox(pod, observed).kind === "keep"),
    initializedCondition(pod, oldStatus, statuses, phase),
  ];
  return [
    ...base,
    // A readiness gate may name any condition before this one.
    readyCondition(pod, base, statuses, phase),
    containersReadyCondition(pod, statuses, phase),
    scheduledCondition(pod),
    ...(couldRestartAll(pod) ? [restartingAllCondition(pod, observed, oldStatus, phase)] : []),
  ];
}

/** A pod without a generation has none to observe. */
function resizeCondition(pod: Pod, condition: PodCondition): PodCondition {
  return pod.metadata.generation ? condition : { ...condition, observedGeneration: undefined };
}
