import { formatTime, parseTime } from "../../lib/time.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodStatus,
} from "../../model/generated/kubernetes.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import { sortedByName } from "./container-status-list.ts";
import { truncateUtf8 } from "./truncate-utf8.ts";

/** What all termination messages of a pod may take together; its containers share it evenly. */
const maxPodMessageBytes = 12 * 1024;

/** The status as the API server would hold it: whole seconds, bounded messages, containers in order. */
export function normalizeStatus(pod: Pod, status: PodStatus): PodStatus {
  const messageBytes = Math.floor(maxPodMessageBytes / Math.max(podContainers(pod).length, 1));
  const normalize = (statuses: readonly ContainerStatus[] | undefined) =>
    statuses?.map((each) => ({
      ...each,
      state: normalizeState(each.state, messageBytes),
      lastState: normalizeState(each.lastState, messageBytes),
    }));
  const regular = normalize(status.containerStatuses);
  const init = normalize(status.initContainerStatuses);
  const ephemeral = normalize(status.ephemeralContainerStatuses);
  return {
    ...status,
    startTime: wholeSeconds(status.startTime),
    conditions: status.conditions?.map((condition) => ({
      ...condition,
      lastProbeTime: wholeSeconds(condition.lastProbeTime),
      lastTransitionTime: wholeSeconds(condition.lastTransitionTime),
    })),
    containerStatuses: regular && sortedByName(regular),
    initContainerStatuses: init && inSpecOrder(pod, init),
    ephemeralContainerStatuses: ephemeral && sortedByName(ephemeral),
  };
}

function normalizeState(
  state: ContainerState | undefined,
  messageBytes: number,
): ContainerState | undefined {
  const { running, terminated, waiting } = state ?? {};
  return {
    running: running && { ...running, startedAt: wholeSeconds(running.startedAt) },
    waiting,
    terminated: terminated && {
      ...terminated,
      startedAt: wholeSeconds(terminated.startedAt),
      finishedAt: wholeSeconds(terminated.finishedAt),
      message: terminated.message && truncateUtf8(terminated.message, messageBytes),
    },
  };
}

const hasWholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function wholeSeconds(time: string | undefined): string | undefined {
  // Nearly all of them, several in each status.
  if (time !== undefined && hasWholeSeconds.test(time)) return time;
  const ms = time === undefined ? undefined : parseTime(time);
  return ms === undefined ? time : formatTime(ms);
}

/** Statuses of containers that the spec does not name change places with those that it does. */
function inSpecOrder(pod: Pod, statuses: readonly ContainerStatus[]): ContainerStatus[] {
  const ordered = [...statuses];
  let place = 0;
  for (const { name } of pod.spec.initContainers ?? []) {
    const found = ordered.findIndex((status, index) => index >= place && status.name === name);
    const [moved, displaced] = [ordered[found], ordered[place]];
    if (moved === undefined || displaced === undefined) continue;
    ordered[place++] = moved;
    if (found >= place) ordered[found] = displaced;
  }
  return ordered;
}
