import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import { findObserved, type ObservedContainer, type ObservedPod } from "../../model/observed.ts";
import { type AnyContainer, type ContainerKind, isSidecar, type Pod } from "../../model/pod.ts";
import { shouldRestartContainer } from "../restart/should-restart.ts";
import { sortedByName } from "./container-status-list.ts";
import { seenContainerStatus } from "./seen-container.ts";
import { type UnseenCircumstances, unseenContainerStatus } from "./unseen-container.ts";

/** Why a container could not be started last time. */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

export interface ContainerStatusesInput extends UnseenCircumstances {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  /** By container name. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
}

/** The API statuses of the pod's containers of one kind; `previous` are those last reported. */
export function containerStatuses(
  input: ContainerStatusesInput,
  kind: ContainerKind,
  previous: readonly ContainerStatus[] | undefined,
): ContainerStatus[] {
  const statuses = containersOf(input.pod, kind).map((container) => {
    const old = previous?.findLast(({ name }) => name === container.name);
    const status = reportedStatus(input, container, old);
    if (kind === "init" && isThrough(input, container, status)) return completed(input, status);
    return withStartFailure(input, container, status);
  });
  return kind === "init" ? statuses : sortedByName(statuses);
}

function containersOf(pod: Pod, kind: ContainerKind): readonly AnyContainer[] {
  switch (kind) {
    case "init":
      return pod.spec.initContainers ?? [];
    case "regular":
      return pod.spec.containers;
    case "ephemeral":
      return pod.spec.ephemeralContainers ?? [];
  }
}

/** From the two newest instances in the runtime, or without any from what was reported before. */
function reportedStatus(
  input: ContainerStatusesInput,
  container: AnyContainer,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const { pod, observed, isRestartingAll } = input;
  const [newest, previous] = observed.containers
    .filter((seen) => seen.name === container.name)
    .toSorted((a, b) => createdAtMs(b) - createdAtMs(a));
  if (newest === undefined) return unseenContainerStatus(pod, container, old, input);
  const status = seenContainerStatus(pod, newest, old, isRestartingAll);
  if (previous === undefined) return status;
  const { state } = seenContainerStatus(pod, previous, old, isRestartingAll);
  return { ...status, lastState: state };
}

function createdAtMs(container: ObservedContainer): number {
  return container.createdAtMs ?? Number.MIN_SAFE_INTEGER;
}

/** Whether an init container has done its work, seen or inferred, so that no failed start can follow. */
function isThrough(
  { pod, observed }: ContainerStatusesInput,
  container: AnyContainer,
  status: ContainerStatus,
): boolean {
  const seen = findObserved(observed, container.name);
  if (seen !== undefined) return seen.state === "exited" && seen.exitCode === 0;
  return (
    !isSidecar(container) &&
    status.state?.waiting !== undefined &&
    hasRegularContainerCreated(pod, observed)
  );
}

/** A removed init container must have succeeded if what comes after it was created. */
function completed({ observed }: ContainerStatusesInput, status: ContainerStatus): ContainerStatus {
  if (findObserved(observed, status.name) !== undefined) return status;
  const message =
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally";
  return { ...status, state: { terminated: { exitCode: 0, reason: "Completed", message } } };
}

function hasRegularContainerCreated(pod: Pod, observed: ObservedPod): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findObserved(observed, name)?.state;
    return state !== undefined && state !== "unknown";
  });
}

/** A container whose start fails is waiting, and says why. */
function withStartFailure(
  { pod, observed, startFailures }: ContainerStatusesInput,
  container: AnyContainer,
  status: ContainerStatus,
): ContainerStatus {
  const failure = startFailures.get(container.name);
  if (failure === undefined || !shouldRestartContainer(container, pod, observed)) return status;
  return {
    ...status,
    state: { waiting: { reason: failure.reason, message: failure.message || undefined } },
    lastState: status.state?.terminated === undefined ? status.lastState : status.state,
  };
}
