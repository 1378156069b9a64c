import { parseTime } from "../../lib/time.ts";
import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import type { ProbeResults } from "../../model/probe.ts";
import { restartMarginMs } from "../probe/probe-worker.ts";
import { containerAt } from "./container-status-list.ts";

/** What the probes of a pod have found so far. */
export interface ProbeView {
  readonly agentStartedAtMs: number;
  /** Names of the containers that are being probed, by kind of probe. */
  readonly readinessProbed: ReadonlySet<string>;
  readonly startupProbed: ReadonlySet<string>;
  readonly readinessResults: ProbeResults;
  readonly startupResults: ProbeResults;
}

export interface ProbedStatuses {
  readonly containerStatuses: readonly ContainerStatus[];
  readonly initContainerStatuses: readonly ContainerStatus[];
  /** Containers whose readiness is in doubt: their readiness probe should run at once. */
  readonly probeNow: readonly string[];
}

/** Sets `started` and `ready` of regular and init containers from their state and probe results. */
export function probedStatuses(
  pod: Pod,
  probes: ProbeView,
  { containerStatuses = [], initContainerStatuses = [] }: PodStatus,
): ProbedStatuses {
  const probeNow: string[] = [];
  const probed = (status: ContainerStatus, container: AnyContainer | undefined) => {
    const started = isStarted(probes, status);
    if (!started) return { ...status, started };
    if (isInDoubt(probes, status)) probeNow.push(status.name);
    return { ...status, started, ready: isReady(pod, probes, status, container) };
  };
  return {
    containerStatuses: containerStatuses.map((status) =>
      probed(
        status,
        pod.spec.containers.find(({ name }) => name === status.name),
      ),
    ),
    initContainerStatuses: initContainerStatuses.map((status, index) => {
      const container = containerAt(pod.spec.initContainers, initContainerStatuses, index);
      if (container !== undefined && isSidecar(container)) return probed(status, container);
      const isDone = container !== undefined && status.state?.terminated?.exitCode === 0;
      return { ...status, started: isStarted(probes, status), ready: isDone || status.ready };
    }),
    probeNow,
  };
}

function isStarted(probes: ProbeView, status: ContainerStatus): boolean {
  if (status.state?.running === undefined) return false;
  const result = probes.startupResults.get(status.containerID ?? "");
  if (result !== undefined) return result === "Success";
  return status.started === true || !probes.startupProbed.has(status.name);
}

/** Of a started container. */
function isReady(
  pod: Pod,
  probes: ProbeView,
  status: ContainerStatus,
  container: AnyContainer | undefined,
): boolean {
  const result = probes.readinessResults.get(status.containerID ?? "");
  if (result === "Success") return true;
  const isUnprobed = !probes.readinessProbed.has(status.name);
  if (container === undefined || !isOlderThanAgent(probes, status)) return isUnprobed;
  // A restart of the agent must not make a ready container unready until its first probe says so.
  const wasReady = container.readinessProbe === undefined || isPodReady(pod);
  return wasReady && (isUnprobed || result === undefined);
}

function isInDoubt(probes: ProbeView, status: ContainerStatus): boolean {
  return (
    probes.readinessProbed.has(status.name) &&
    probes.readinessResults.get(status.containerID ?? "") !== "Success"
  );
}

function isOlderThanAgent(probes: ProbeView, status: ContainerStatus): boolean {
  const startedAt = status.state?.running?.startedAt;
  const startedAtMs = startedAt === undefined ? undefined : parseTime(startedAt);
  return startedAtMs !== undefined && startedAtMs < probes.agentStartedAtMs - restartMarginMs;
}

function isPodReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ??
    false
  );
}
