import { quoteText } from "../../lib/go-text.ts";
import type { ContainerStatus, PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import { findCondition } from "./condition-list.ts";
import { findContainerStatus } from "./container-status-list.ts";

type Outcome = Pick<PodCondition, "status" | "reason" | "message">;

/** Undefined where nothing is known of any container. */
type KnownStatuses = readonly ContainerStatus[] | undefined;

/** True when every sidecar and regular container is ready. */
export function containersReadyCondition(
  pod: Pod,
  statuses: KnownStatuses,
  phase: string | undefined,
): PodCondition {
  return makeCondition(pod, "ContainersReady", containersReady(pod, statuses, phase));
}

/** True when the containers are ready and so is every readiness gate among `conditions`. */
export function readyCondition(
  pod: Pod,
  conditions: readonly PodCondition[],
  statuses: KnownStatuses,
  phase: string | undefined,
): PodCondition {
  const containers = containersReady(pod, statuses, phase);
  if (containers.status !== "True") return makeCondition(pod, "Ready", containers);
  const message = (pod.spec.readinessGates ?? [])
    .map(({ conditionType }) => gateComplaint(conditionType, conditions))
    .filter((complaint) => complaint !== undefined)
    .join(", ");
  return makeCondition(
    pod,
    "Ready",
    message === ""
      ? { status: "True" }
      : { status: "False", reason: "ReadinessGatesNotReady", message },
  );
}

/** True once all init containers are through; a pod that was initialized stays so. */
export function initializedCondition(
  pod: Pod,
  oldStatus: PodStatus,
  statuses: KnownStatuses,
  phase: string | undefined,
): PodCondition {
  return makeCondition(pod, "Initialized", initialized(pod, oldStatus, statuses, phase));
}

/** True while the pod has a sandbox with its network. */
export function readyToStartContainersCondition(pod: Pod, hasSandbox: boolean): PodCondition {
  return makeCondition(pod, "PodReadyToStartContainers", { status: hasSandbox ? "True" : "False" });
}

/** A pod on this node has been scheduled. */
export function scheduledCondition(pod: Pod): PodCondition {
  return makeCondition(pod, "PodScheduled", { status: "True" });
}

/** What Ready and ContainersReady become with a terminal phase. */
export function unreadyByPhaseCondition(
  pod: Pod,
  type: "Ready" | "ContainersReady",
  phase: string | undefined,
): PodCondition {
  return makeCondition(pod, type, unreadyByPhase(phase));
}

function makeCondition(pod: Pod, type: string, { status, reason, message }: Outcome): PodCondition {
  // The generation 0 means "none" and is not written.
  const observedGeneration = pod.metadata.generation || undefined;
  return { type, observedGeneration, status, reason, message };
}

function unreadyByPhase(phase: string | undefined): Outcome {
  return { status: "False", reason: phase === "Failed" ? "PodFailed" : "PodCompleted" };
}

function containersReady(pod: Pod, statuses: KnownStatuses, phase: string | undefined): Outcome {
  if (statuses === undefined) return { status: "False", reason: "UnknownContainerStatuses" };
  const needed = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const unknown = needed.filter(({ name }) => findContainerStatus(statuses, name) === undefined);
  const unready = needed.filter(({ name }) => {
    const status = findContainerStatus(statuses, name);
    return status !== undefined && !status.ready;
  });
  if (phase === "Failed" || (phase === "Succeeded" && unknown.length === 0)) {
    return unreadyByPhase(phase);
  }
  const message = complaints({ unknown, unready });
  if (message === "") return { status: "True" };
  return { status: "False", reason: "ContainersNotReady", message };
}

function initialized(
  pod: Pod,
  oldStatus: PodStatus,
  statuses: KnownStatuses,
  phase: string | undefined,
): Outcome {
  const needed = pod.spec.initContainers ?? [];
  if (statuses === undefined && needed.length > 0) {
    return { status: "False", reason: "UnknownContainerStatuses" };
  }
  const unknown = needed.filter(({ name }) => findContainerStatus(statuses, name) === undefined);
  if (phase === "Succeeded" && unknown.length === 0) {
    return { status: "True", reason: "PodCompleted" };
  }
  // Sidecars may be restarting in a pod whose initialization is long over.
  if (hasRegularContainerStarted(pod, statuses)) return { status: "True" };
  const incomplete = needed.filter((container) => {
    const status = findContainerStatus(statuses, container.name);
    return status !== undefined && !isInitialized(container, status);
  });
  const message = complaints({ unknown, incomplete });
  if (message === "") return { status: "True" };
  // A restart of all containers sets init containers back to waiting.
  const before = oldStatus.conditions?.some(
    ({ type, status }) => type === "Initialized" && status === "True",
  );
  if (before === true) return { status: "True" };
  return { status: "False", reason: "ContainersNotInitialized", message };
}

function isInitialized(container: AnyContainer, status: ContainerStatus): boolean {
  return isSidecar(container) ? status.started === true : status.ready;
}

function hasRegularContainerStarted(pod: Pod, statuses: KnownStatuses): boolean {
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return (statuses ?? []).some(
    ({ name, state }) =>
      names.has(name) && (state?.running !== undefined || state?.terminated !== undefined),
  );
}

function gateComplaint(type: string, conditions: readonly PodCondition[]): string | undefined {
  const gate = findCondition(conditions, type);
  if (gate === undefined) {
    return `corresponding condition of pod readiness gate ${quoteText(type)} does not exist.`;
  }
  if (gate.status === "True") return undefined;
  return `the status of pod readiness gate ${quoteText(type)} is not "True", but ${gate.status}`;
}

function complaints(containers: Readonly<Record<string, readonly AnyContainer[]>>): string {
  return Object.entries(containers)
    .filter(([, list]) => list.length > 0)
    .map(
      ([what, list]) =>
        `containers with ${what} status: [${list.map(({ name }) => name).join(" ")}]`,
    )
    .join(", ");
}
