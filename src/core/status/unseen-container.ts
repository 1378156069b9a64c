import type {
  ContainerStatus,
  VolumeMount,
  VolumeMountStatus,
} from "../../model/generated/kubernetes.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { containerStatusUnknown, restartingAllContainers } from "./reasons.ts";

export interface UnseenCircumstances {
  readonly isRestartingAll: boolean;
  readonly supportsRecursiveReadOnly: boolean;
}

/** The API status of a container that the runtime does not know; `old` is what was last reported of it. */
export function unseenContainerStatus(
  pod: Pod,
  container: AnyContainer,
  old: ContainerStatus | undefined,
  { isRestartingAll, supportsRecursiveReadOnly }: UnseenCircumstances,
): ContainerStatus {
  const waiting = waitingStatus(pod, container, supportsRecursiveReadOnly);
  if (old === undefined) return waiting;
  const hasEnded = old.state?.terminated !== undefined;
  const status: ContainerStatus = hasEnded
    ? old
    : { ...waiting, restartCount: old.restartCount, lastState: old.lastState };
  if (isRestartingAll && old.state?.waiting === undefined) return removedForRestart(status, old);
  const isLost =
    !hasEnded && old.state?.running !== undefined && old.lastState?.terminated === undefined;
  return isLost ? lostStatus(pod, status) : status;
}

function waitingStatus(
  pod: Pod,
  container: AnyContainer,
  supportsRecursiveReadOnly: boolean,
): ContainerStatus {
  const hasInitContainers = (pod.spec.initContainers ?? []).length > 0;
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { waiting: { reason: hasInitContainers ? "PodInitializing" : "ContainerCreating" } },
    volumeMounts: container.volumeMounts?.map((mount) =>
      volumeMountStatus(mount, supportsRecursiveReadOnly),
    ),
  };
}

/** A restart of all containers takes them away: that is not a loss. */
function removedForRestart(status: ContainerStatus, old: ContainerStatus): ContainerStatus {
  const reason = restartingAllContainers;
  const message = "The container is removed because RestartAllContainers in place";
  return {
    ...status,
    state: { ...status.state, waiting: { reason, message }, terminated: undefined },
    lastState: { ...status.lastState, terminated: { exitCode: 137, reason, message } },
    restartCount: old.restartCount + 1,
  };
}

/** The container ran when it was last seen. Its unseen end keeps the pod from falling back to Pending. */
function lostStatus(pod: Pod, status: ContainerStatus): ContainerStatus {
  const message =
    "The container could not be located when the pod was deleted.  The container used to be Running";
  const terminated = { exitCode: 137, reason: containerStatusUnknown, message };
  const restarts = pod.metadata.deletionTimestamp === undefined ? 1 : 0;
  return {
    ...status,
    lastState: { ...status.lastState, terminated },
    restartCount: status.restartCount + restarts,
  };
}

function volumeMountStatus(
  mount: VolumeMount,
  supportsRecursiveReadOnly: boolean,
): VolumeMountStatus {
  const { name, mountPath, readOnly } = mount;
  if (readOnly !== true) return { name, mountPath };
  const isRecursive = supportsRecursiveReadOnly && wantsRecursiveReadOnly(mount);
  return { name, mountPath, readOnly, recursiveReadOnly: isRecursive ? "Enabled" : "Disabled" };
}

/** A mount that propagates cannot be made read-only all the way down. */
function wantsRecursiveReadOnly({ recursiveReadOnly, mountPropagation }: VolumeMount): boolean {
  const isAsked = recursiveReadOnly === "IfPossible" || recursiveReadOnly === "Enabled";
  return isAsked && (mountPropagation === undefined || mountPropagation === "None");
}
