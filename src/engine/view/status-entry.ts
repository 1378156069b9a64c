import { parseTime } from "../../lib/time.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodCondition,
  PodStatus,
} from "../../model/generated/kubernetes.ts";
import {
  isSidecar,
  type PlacedContainer,
  type Pod,
  podContainers,
  podKey,
} from "../../model/pod.ts";
import { podRow } from "../../model/pod-row.ts";
import type {
  ConditionMoment,
  ContainerMoment,
  ContainerRun,
  StatusEntry,
} from "../../ports/history.ts";

const longestText = 1024;

/** Whatever wrote it, and however much: this much of it is kept. */
export function cutText(text: string): string;
export function cutText(text: string | undefined): string | undefined;
export function cutText(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= longestText) return text;
  return `${text.slice(0, longestText)}…`;
}

/** The pod as others see it, as history keeps it. */
export function statusEntry(shown: Pod, atMs: number): StatusEntry {
  const pod = withoutProgress(shown);
  const { metadata, status = {} } = pod;
  // Its age and that of its last restart are made when it is shown.
  const row = podRow(pod, atMs);
  return {
    kind: "status",
    atMs,
    uid: metadata.uid,
    pod: podKey(pod),
    ready: row.ready,
    status: cutText(row.status),
    restarts: Number.parseInt(row.restarts, 10),
    phase: status.phase ?? "Pending",
    reason: status.reason,
    message: cutText(status.message),
    ip: status.podIP,
    createdMs: timeOf(metadata.creationTimestamp),
    deletingMs: timeOf(metadata.deletionTimestamp),
    containers: podContainers(pod).map((placed) => containerMoment(placed, status)),
    conditions: (status.conditions ?? []).filter(isNotable).map(conditionMoment),
  };
}

function containerMoment({ kind, container }: PlacedContainer, status: PodStatus): ContainerMoment {
  const lists = {
    init: status.initContainerStatuses,
    regular: status.containerStatuses,
    ephemeral: status.ephemeralContainerStatuses,
  };
  const known = lists[kind]?.find(({ name }) => name === container.name);
  const last = known?.lastState?.terminated === undefined ? undefined : run(known.lastState);
  return {
    name: container.name,
    kind,
    isSidecar: kind === "init" && isSidecar(container) ? true : undefined,
    image: cutText(container.image),
    ready: known?.ready ?? false,
    started: known?.started,
    restarts: known?.restartCount ?? 0,
    state: run(known?.state ?? {}),
    last,
    resources: resourcesOf(known),
  };
}

function run({ running, terminated, waiting }: ContainerState): ContainerRun {
  if (running !== undefined) return { is: "running", startedMs: timeOf(running.startedAt) };
  if (terminated === undefined) {
    return { is: "waiting", reason: waiting?.reason, message: cutText(waiting?.message) };
  }
  const { reason, message, exitCode, signal, startedAt, finishedAt } = terminated;
  return {
    is: "terminated",
    reason,
    message: cutText(message),
    startedMs: timeOf(startedAt),
    finishedMs: timeOf(finishedAt),
    exitCode,
    signal,
  };
}

function resourcesOf(status: ContainerStatus | undefined): ContainerMoment["resources"] {
  const granted = status?.allocatedResources ?? {};
  return Object.keys(granted).length === 0 ? undefined : granted;
}

function isNotable({ type, status }: PodCondition): boolean {
  return status !== "True" || type.startsWith("PodResize");
}

function conditionMoment({ type, status, reason, message }: PodCondition): ConditionMoment {
  return { type, status, reason, message: cutText(message) };
}

/** How far a pull has come changes all the time, and says nothing later. */
function withoutProgress(pod: Pod): Pod {
  const { status } = pod;
  if (status === undefined) return pod;
  const steady = (all: readonly ContainerStatus[] | undefined) => all?.map(withoutPercent);
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return {
    ...pod,
    status: {
      ...status,
      initContainerStatuses: steady(initContainerStatuses),
      containerStatuses: steady(containerStatuses),
      ephemeralContainerStatuses: steady(ephemeralContainerStatuses),
    },
  };
}

function withoutPercent(status: ContainerStatus): ContainerStatus {
  const { waiting } = status.state ?? {};
  const { message = "" } = waiting ?? {};
  if (waiting === undefined || !/^(?:Pulling|Waiting to pull) image "/.test(message)) return status;
  const progress = message.lastIndexOf(", ");
  if (progress < 0) return status;
  return { ...status, state: { waiting: { ...waiting, message: message.slice(0, progress) } } };
}

function timeOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : parseTime(time);
}
