// A pod in one line, with the same words as kubectl.
import { formatAge } from "../lib/duration.ts";
import { parseTime } from "../lib/time.ts";
import type { ContainerStateWaiting, ContainerStatus, PodStatus } from "./generated/kubernetes.ts";
import { isSidecar, type Pod } from "./pod.ts";

export interface PodRow {
  readonly namespace: string;
  readonly name: string;
  readonly ready: string;
  readonly status: string;
  readonly restarts: string;
  readonly age: string;
  readonly ip: string;
  readonly node: string;
}

interface Tally {
  readonly reason: string;
  readonly readyContainers: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
}

export function podRow(pod: Pod, nowMs: number): PodRow {
  const sidecars = new Set(
    (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name),
  );
  const { reason, readyContainers, restarts, lastRestartMs } = tally(pod, sidecars);
  const restartAge =
    restarts === 0 || lastRestartMs === undefined
      ? ""
      : ` (${formatAge(nowMs - lastRestartMs)} ago)`;
  const { metadata, spec, status } = pod;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    ready: `${readyContainers}/${spec.containers.length + sidecars.size}`,
    status: terminatingReason(pod) ?? reason,
    restarts: `${restarts}${restartAge}`,
    age: ageSince(metadata.creationTimestamp, nowMs),
    ip: status?.podIPs?.[0]?.ip ?? status?.podIP ?? "<none>",
    node: spec.nodeName === undefined || spec.nodeName === "" ? "<none>" : spec.nodeName,
  };
}

/** How long ago a time of the API was; "<unknown>" without one. */
export function ageSince(time: string | undefined, nowMs: number): string {
  const ms = time === undefined ? undefined : parseTime(time);
  return ms === undefined ? "<unknown>" : formatAge(nowMs - ms);
}

function tally(pod: Pod, sidecars: ReadonlySet<string>): Tally {
  const status = pod.status ?? {};
  const init = tallyInit(pod, status, sidecars);
  if (init.waitsFor !== undefined && !hasCondition(status, "Initialized")) {
    return { ...init, reason: init.waitsFor };
  }
  const started = init.sidecarStatuses;
  const regular = status.containerStatuses ?? [];
  const ready = regular.filter((container) => container.ready && isRunning(container)).length;
  return {
    reason: containersReason(init.waitsFor ?? init.reason, status),
    readyContainers: init.readyContainers + ready,
    restarts: sumRestarts([...started, ...regular]),
    lastRestartMs: lastRestart([...started, ...regular]),
  };
}

interface InitTally extends Tally {
  /** What the first unfinished init container is waiting for; undefined when all are done. */
  readonly waitsFor: string | undefined;
  readonly sidecarStatuses: readonly ContainerStatus[];
}

/** Walks the init containers up to and including the first that holds the pod up. */
function tallyInit(pod: Pod, status: PodStatus, sidecars: ReadonlySet<string>): InitTally {
  const seen: ContainerStatus[] = [];
  let readyContainers = 0;
  let waitsFor: string | undefined;
  for (const [index, container] of (status.initContainerStatuses ?? []).entries()) {
    seen.push(container);
    if (container.state?.terminated?.exitCode === 0) continue;
    if (sidecars.has(container.name) && container.started === true) {
      if (container.ready) readyContainers++;
      continue;
    }
    waitsFor = initReason(container, `${index}/${pod.spec.initContainers?.length ?? 0}`);
    break;
  }
  return {
    waitsFor,
    readyContainers,
    reason: podReason(status),
    restarts: sumRestarts(seen),
    lastRestartMs: lastRestart(seen),
    sidecarStatuses: seen.filter(({ name }) => sidecars.has(name)),
  };
}

function podReason(status: PodStatus): string {
  const isGated = status.conditions?.some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  if (isGated === true) return "SchedulingGated";
  const { reason = "", phase = "Pending" } = status;
  return reason === "" ? phase : reason;
}

function initReason({ state }: ContainerStatus, progress: string): string {
  const { terminated, waiting } = state ?? {};
  if (terminated !== undefined) return `Init:${terminatedReason(terminated)}`;
  const reason = waiting?.reason ?? "";
  const isOwn = reason !== "" && reason !== "PodInitializing";
  return `Init:${isOwn ? reason : progress}${pullOf(waiting)}`;
}

/** The first container in the spec has the last word. */
function containersReason(initial: string, status: PodStatus): string {
  let reason = initial;
  let failure: string | undefined;
  let hasRunning = false;
  for (const container of (status.containerStatuses ?? []).toReversed()) {
    const { waiting, terminated } = container.state ?? {};
    if ((waiting?.reason ?? "") !== "") {
      reason = `${waiting?.reason ?? ""}${pullOf(waiting)}`;
    } else if (terminated !== undefined) {
      reason = terminatedReason(terminated);
      if (terminated.exitCode !== 0) failure = reason;
    } else if (container.ready && isRunning(container)) {
      hasRunning = true;
    }
  }
  // One container that ended well does not make a pod completed in which others still run or have failed.
  if (reason !== "Completed") return reason;
  if (hasRunning && hasCondition(status, "Ready")) return "Running";
  if (failure !== undefined) return failure;
  return hasRunning ? "NotReady" : reason;
}

/** Beyond kubectl: which image is on its way. */
function pullOf(waiting: ContainerStateWaiting | undefined): string {
  const [, state = "", image, percent] =
    /^(Pulling|Waiting to pull) image "([^"]+)" since \S+?(?:, .*\((\d+%)\))?$/.exec(
      waiting?.message ?? "",
    ) ?? [];
  const done = percent === undefined ? "" : `, ${percent}`;
  return image === undefined ? "" : ` (${state.toLowerCase()} ${image}${done})`;
}

function terminatedReason(terminated: {
  readonly reason?: string | undefined;
  readonly signal?: number | undefined;
  readonly exitCode: number;
}): string {
  const { reason = "", signal = 0, exitCode } = terminated;
  if (reason !== "") return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function terminatingReason({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status?.reason === "NodeLost") return "Unknown";
  const isTerminal = status?.phase === "Succeeded" || status?.phase === "Failed";
  return isTerminal ? undefined : "Terminating";
}

function hasCondition(status: PodStatus, type: string): boolean {
  return (
    status.conditions?.some(
      (condition) => condition.type === type && condition.status === "True",
    ) ?? false
  );
}

function isRunning(container: ContainerStatus): boolean {
  return container.state?.running !== undefined;
}

function sumRestarts(containers: readonly ContainerStatus[]): number {
  return containers.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

function lastRestart(containers: readonly ContainerStatus[]): number | undefined {
  const times = containers
    .map(({ lastState }) => parseTime(lastState?.terminated?.finishedAt ?? ""))
    .filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.max(...times);
}
