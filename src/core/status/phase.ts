import type {
  ContainerStateTerminated,
  ContainerStatus,
} from "../../model/generated/kubernetes.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import { decideRestart } from "../restart/restart-policy.ts";
import { findContainerStatus } from "./container-status-list.ts";
import { restartingAllContainers } from "./reasons.ts";

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PhaseCircumstances {
  /** Nothing of the pod will be started any more, whatever its restart policy. */
  readonly isTerminal: boolean;
  /** A regular container was created in the current sandbox, so initialization is over. */
  readonly hasInitialized: boolean;
}

type InitProgress = "pending" | "failed" | "past";

/** How a sidecar or regular container counts for the phase; an ended sidecar does not count. */
type Progress =
  | { readonly kind: "unknown" | "waiting" | "running" | "ended" }
  | { readonly kind: "stopped"; readonly restarts: boolean; readonly succeeded: boolean };

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** The phase that the container statuses (regular and init, in any order) amount to. */
export function podPhase(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  { isTerminal, hasInitialized }: PhaseCircumstances,
): PodPhase {
  const statusOf = (container: AnyContainer) => findContainerStatus(statuses, container.name);
  const initContainers = pod.spec.initContainers ?? [];
  const sidecars = initContainers.filter(isSidecar);
  const initialization = initContainers
    .filter((container) => !isSidecar(container))
    .map((container) => initProgress(pod, container, statusOf(container)));
  if (initialization.includes("failed")) return "Failed";
  if (initialization.includes("pending")) return "Pending";
  if (!hasInitialized && sidecars.some((sidecar) => isSidecarPending(statusOf(sidecar)))) {
    return "Pending";
  }
  const progress = [
    ...sidecars.map((sidecar) => sidecarProgress(statusOf(sidecar))),
    ...pod.spec.containers.map((container) => regularProgress(pod, container, statusOf(container))),
  ];
  const some = (kind: Progress["kind"]) => progress.some((each) => each.kind === kind);
  const stopped = progress.filter((each) => each.kind === "stopped");
  if (some("waiting") || some("unknown")) return "Pending";
  if (some("running")) return "Running";
  if (stopped.length === 0) return "Pending";
  const endsNow = isTerminal && !isStaticPod(pod);
  if (!endsNow && stopped.some(({ restarts }) => restarts)) return "Running";
  return stopped.every(({ succeeded }) => succeeded) ? "Succeeded" : "Failed";
}

function initProgress(
  pod: Pod,
  container: AnyContainer,
  status: ContainerStatus | undefined,
): InitProgress {
  const { running, waiting, terminated } = status?.state ?? {};
  if (running !== undefined) return "pending";
  const end = terminated ?? (waiting === undefined ? undefined : status?.lastState?.terminated);
  if (end === undefined) return "pending";
  return end.exitCode === 0 || restarts(pod, container, end) ? "past" : "failed";
}

/** Only a sidecar that never got as far as being started holds the initialization up. */
function isSidecarPending(status: ContainerStatus | undefined): boolean {
  if (status === undefined) return false;
  const { running, waiting, terminated } = status.state ?? {};
  if (running !== undefined) return status.started !== true;
  if (terminated !== undefined) return false;
  return waiting === undefined || status.lastState?.terminated === undefined;
}

function sidecarProgress(status: ContainerStatus | undefined): Progress {
  const { running, waiting, terminated } = status?.state ?? {};
  if (running !== undefined) return { kind: "running" };
  if (terminated !== undefined) return { kind: "ended" };
  if (waiting === undefined) return { kind: "unknown" };
  return { kind: status?.lastState?.terminated === undefined ? "waiting" : "ended" };
}

function regularProgress(
  pod: Pod,
  container: AnyContainer,
  status: ContainerStatus | undefined,
): Progress {
  const { running, waiting, terminated } = status?.state ?? {};
  if (running !== undefined) return { kind: "running" };
  if (terminated !== undefined) {
    const succeeded = terminated.exitCode === 0;
    return { kind: "stopped", restarts: restarts(pod, container, terminated), succeeded };
  }
  if (waiting === undefined) return { kind: "unknown" };
  const last = status?.lastState?.terminated;
  if (last === undefined) return { kind: "waiting" };
  return { kind: "stopped", restarts: restarts(pod, container, last), succeeded: false };
}

function restarts(pod: Pod, container: AnyContainer, end: ContainerStateTerminated): boolean {
  return (
    decideRestart(container, pod, end.exitCode).restart || end.reason === restartingAllContainers
  );
}
