import { formatTime } from "../../lib/time.ts";
import type {
  ContainerState,
  ContainerStatus,
  ContainerUser,
} from "../../model/generated/kubernetes.ts";
import type { ObservedContainer, ObservedUser } from "../../model/observed.ts";
import { findContainer, type Pod } from "../../model/pod.ts";
import { containerStatusUnknown, restartingAllContainers } from "./reasons.ts";
import { containerResourcesStatus } from "./running-resources.ts";

/** The API status of a container that the runtime knows; `old` is what was last reported of that name. */
export function seenContainerStatus(
  pod: Pod,
  seen: ObservedContainer,
  old: ContainerStatus | undefined,
  isRestartingAll: boolean,
): ContainerStatus {
  const allocated = findContainer(pod, seen.name)?.container;
  const isNewRun = old?.containerID !== seen.id && old?.state?.terminated !== undefined;
  const lastEnd = isNewRun ? old.state?.terminated : old?.lastState?.terminated;
  return {
    name: seen.name,
    state: currentState(seen, old, isRestartingAll),
    lastState: lastEnd && { terminated: lastEnd },
    ready: false,
    restartCount: restartCount(seen, old),
    image: seen.image,
    // The API's imageID has always been the runtime's digested reference.
    imageID: seen.imageRef,
    containerID: seen.id,
    started: seen.state === "running" ? old?.started : undefined,
    volumeMounts: old?.volumeMounts,
    resources: allocated && containerResourcesStatus(allocated.resources ?? {}, seen, old),
    allocatedResources: allocated?.resources?.requests,
    user: seen.user && userStatus(seen.user),
    stopSignal: seen.stopSignal,
  };
}

function currentState(
  seen: ObservedContainer,
  old: ContainerStatus | undefined,
  isRestartingAll: boolean,
): ContainerState {
  switch (seen.state) {
    case "running":
      return { running: { startedAt: timeText(seen.startedAtMs) } };
    case "created":
      return { waiting: {} };
    case "exited":
      return {
        terminated: {
          exitCode: seen.exitCode,
          reason: seen.reason || undefined,
          message: seen.message || undefined,
          startedAt: timeText(seen.startedAtMs),
          finishedAt: timeText(seen.finishedAtMs),
          containerID: seen.id,
        },
      };
    case "unknown":
      // It ran and no longer does. Waiting would let a container that must run once run twice.
      return old?.state?.running === undefined
        ? { waiting: {} }
        : lostState(isRestartingAll ? restartingAllContainers : containerStatusUnknown);
  }
}

/** The state of a container that ran and whose end was not observed. */
export function lostState(reason: string): ContainerState {
  const message = "The container could not be located when the pod was terminated";
  return { terminated: { exitCode: 137, reason, message } };
}

/** Never less than was reported; where the runtime cannot have counted a restart, it is counted here. */
function restartCount(seen: ObservedContainer, old: ContainerStatus | undefined): number {
  if (old === undefined) return seen.restartCount;
  const isUncounted =
    (seen.state === "running" &&
      old.state?.terminated !== undefined &&
      old.restartCount >= seen.restartCount) ||
    (seen.state === "unknown" && old.state?.running !== undefined);
  if (isUncounted) return old.restartCount + 1;
  return Math.max(seen.restartCount, old.restartCount);
}

function userStatus({ linux }: ObservedUser): ContainerUser {
  return {
    linux: linux && {
      uid: linux.uid,
      gid: linux.gid,
      supplementalGroups: linux.supplementalGroups,
    },
  };
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTime(ms);
}
