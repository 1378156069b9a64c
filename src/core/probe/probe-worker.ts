import { parseTime } from "../../lib/time.ts";
import type { ContainerStatus, PodStatus, Probe } from "../../model/generated/kubernetes.ts";
import { type ContainerId, containerId } from "../../model/ids.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import type { ProbeKind, ProbeResult } from "../../model/probe.ts";
import { decideRestart, matchingRestartRule } from "../restart/restart-policy.ts";

/** One probe of one container of a pod. */
export interface ProbeSubject {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly agentStartedAtMs: number;
}

/** What a probe's worker remembers from one round to the next. */
export interface ProbeState {
  readonly containerId: ContainerId | undefined;
  /** How often in a row the last result was found. */
  readonly lastResult: ProbeResult | undefined;
  readonly resultRun: number;
  /** The container has been judged: no more probes until there is a new one. */
  readonly onHold: boolean;
}

export const initialProbeState: ProbeState = {
  containerId: undefined,
  lastResult: undefined,
  resultRun: 0,
  onHold: false,
};

/** A change of the result that others see. */
export type ResultChange =
  | { readonly kind: "set"; readonly containerId: ContainerId; readonly result: ProbeResult }
  | { readonly kind: "remove"; readonly containerId: ContainerId };

export interface ProbeRound {
  readonly state: ProbeState;
  readonly changes: readonly ResultChange[];
  /** Run the probe now, only come back later, or never. */
  readonly next: "probe" | "wait" | "stop";
}

/** A container that started this long before the agent ran under its predecessor. */
export const restartMarginMs = 10_000;

const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = {
  readiness: "Failure",
  liveness: "Success",
  startup: "UNKNOWN",
};

/** Decides what a round does before any probe is run. `status` is absent while the pod has none. */
export function planProbe(
  subject: ProbeSubject,
  before: ProbeState,
  status: PodStatus | undefined,
  nowMs: number,
): ProbeRound {
  const wait: ProbeRound = { state: before, changes: [], next: "wait" };
  if (status === undefined) return wait;
  if (status.phase === "Failed" || status.phase === "Succeeded") return { ...wait, next: "stop" };
  const seen = probedContainer(subject, status);
  if (seen === undefined) return wait;
  const { state, changes } = meetContainer(subject, before, seen);
  if (state.onHold) return { state, changes, next: "wait" };
  const set = (result: ProbeResult): readonly ResultChange[] => [
    ...changes,
    { kind: "set", containerId: seen.containerId, result },
  ];
  const { running, terminated } = seen.status.state ?? {};
  if (running === undefined) {
    const comesBack = terminated === undefined || restarts(subject, status, terminated.exitCode);
    return { state, changes: set("Failure"), next: comesBack ? "wait" : "stop" };
  }
  if (subject.pod.metadata.deletionTimestamp !== undefined && subject.kind !== "readiness") {
    return { state, changes: set("Success"), next: "stop" };
  }
  const startedAtMs = timeOf(running.startedAt) ?? Number.NEGATIVE_INFINITY;
  const ageSeconds = Math.trunc((nowMs - startedAtMs) / 1000);
  const isDue =
    ageSeconds >= (subject.probe.initialDelaySeconds ?? 0) &&
    (seen.status.started === true) === (subject.kind !== "startup");
  return { state, changes, next: isDue ? "probe" : "wait" };
}

/** Takes the result of a probe that was run; it counts once it was found often enough in a row. */
export function settleProbe(
  { kind, probe }: ProbeSubject,
  before: ProbeState,
  result: ProbeResult,
): Omit<ProbeRound, "next"> {
  const resultRun = before.lastResult === result ? before.resultRun + 1 : 1;
  const state = { ...before, lastResult: result, resultRun };
  const threshold = (result === "Failure" ? probe.failureThreshold : probe.successThreshold) ?? 0;
  if (before.containerId === undefined || resultRun < threshold) return { state, changes: [] };
  const changes: readonly ResultChange[] = [
    { kind: "set", containerId: before.containerId, result },
  ];
  // A container that fails will be stopped, and one that has started needs no more of these probes.
  if (kind === "startup" || (kind === "liveness" && result === "Failure")) {
    return { state: { ...state, onHold: true, resultRun: 0 }, changes };
  }
  return { state, changes };
}

interface SeenContainer {
  readonly status: ContainerStatus;
  readonly containerId: ContainerId;
}

function probedContainer(
  { container }: ProbeSubject,
  status: PodStatus,
): SeenContainer | undefined {
  for (const statuses of [status.containerStatuses, status.initContainerStatuses]) {
    const found = statuses?.find(({ name }) => name === container.name);
    if (found?.containerID) return { status: found, containerId: containerId(found.containerID) };
  }
  return undefined;
}

function meetContainer(
  subject: ProbeSubject,
  before: ProbeState,
  { status, containerId }: SeenContainer,
): Omit<ProbeRound, "next"> {
  if (before.containerId === containerId) return { state: before, changes: [] };
  const changes: ResultChange[] = [];
  if (before.containerId !== undefined) {
    changes.push({ kind: "remove", containerId: before.containerId });
  }
  const wasStarted = isSidecarSubject(subject) && subject.kind === "startup" && status.started;
  if (wasStarted === true) changes.push({ kind: "set", containerId, result: "Success" });
  const startedAtMs = timeOf(status.state?.running?.startedAt);
  const isOlderThanAgent =
    startedAtMs !== undefined && startedAtMs < subject.agentStartedAtMs - restartMarginMs;
  // After a restart of the agent, what was known of the container holds until a probe says otherwise.
  if (!isOlderThanAgent) {
    changes.push({ kind: "set", containerId, result: initialResults[subject.kind] });
  }
  return { state: { ...before, containerId, onHold: false }, changes };
}

function isSidecarSubject({ pod, container }: ProbeSubject): boolean {
  const isInit = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name);
  return isInit && isSidecar(container);
}

function restarts({ pod, container }: ProbeSubject, status: PodStatus, exitCode: number): boolean {
  return decideRestart(container, pod, exitCode).restart || restartsAll(pod, status);
}

/** All containers of the pod are being restarted, or the end of one of them asks for it. */
function restartsAll(pod: Pod, status: PodStatus): boolean {
  const isRestarting = status.conditions?.some(
    ({ type, status }) => type === "AllContainersRestarting" && status === "True",
  );
  if (isRestarting === true) return true;
  const statuses = new Map(
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map((entry) => [
      entry.name,
      entry,
    ]),
  );
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) => {
    const ended = statuses.get(container.name)?.state?.terminated;
    return (
      ended !== undefined &&
      matchingRestartRule(container, ended.exitCode)?.action === "RestartAllContainers"
    );
  });
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseTime(text);
}
