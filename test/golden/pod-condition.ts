import { deepEqual } from "../../src/lib/deep-equal.ts";
import type { ContainerStatus, PodSpec, PodStatus } from "../../src/model/generated/kubernetes.ts";

const resizeConditions = ["PodResizePending", "PodResizeInProgress"];

/** Whether a pod has come to what the recording waited for; undefined when that is not known. */
export function meetsCondition(status: PodStatus, condition: string): boolean | undefined {
  const phase = /^phase (\w+)$/.exec(condition)?.[1];
  if (phase !== undefined) return status.phase === phase;
  const restarts = /^restartCount>=(\d+)$/.exec(condition)?.[1];
  if (restarts !== undefined) return all(status).some(restartedTimes(Number(restarts)));
  switch (condition) {
    case "terminal phase":
      return status.phase === "Succeeded" || status.phase === "Failed";
    case "Ready":
    case "v2 Ready":
      return isReady(status);
    case "Ready=False":
      return !isReady(status);
    case "bound":
      return status.hostIP !== undefined;
    case "ContainersReady":
      return hasCondition(status, "ContainersReady");
    case "PodResizePending":
      return hasCondition(status, "PodResizePending");
    case "dbg running":
      return (status.ephemeralContainerStatuses ?? []).some(
        ({ state }) => state?.running !== undefined,
      );
    case "dbg terminated":
      return (status.ephemeralContainerStatuses ?? []).some(
        ({ state }) => state?.terminated !== undefined,
      );
    case "started=true":
      return allOf(regular(status), ({ started }) => started === true);
    case "terminated":
      return allOf(regular(status), ({ state }) => state?.terminated !== undefined);
    case "init running":
      return (status.initContainerStatuses ?? []).some(({ state }) => state?.running !== undefined);
    case "c restarted with the new image":
    case "restarted":
    case "sidecar restarted":
    case "restarted in new sandbox":
      return all(status).some(restartedTimes(1));
    case "all restarted":
      return allOf(all(status), restartedTimes(1)) && isReady(status);
    case "CreateContainerConfigError":
    case "ImagePullBackOff":
      return all(status).some(({ state }) => state?.waiting?.reason === condition);
    default:
      return undefined;
  }
}

/** Whether every container runs with the resources it asks for. */
export function isResized({ containers }: PodSpec, status: PodStatus): boolean {
  if (resizeConditions.some((type) => hasCondition(status, type))) return false;
  return containers.every(({ name, resources }) => {
    const shown = regular(status).find((container) => container.name === name);
    return shown?.state?.running !== undefined && deepEqual(shown.resources, resources);
  });
}

/** Of containers that have a status at all. */
function allOf(
  statuses: readonly ContainerStatus[],
  is: (status: ContainerStatus) => boolean,
): boolean {
  return statuses.length > 0 && statuses.every(is);
}

function isReady(status: PodStatus): boolean {
  return hasCondition(status, "Ready");
}

function hasCondition(status: PodStatus, wanted: string): boolean {
  return (status.conditions ?? []).some(({ type, status }) => type === wanted && status === "True");
}

function restartedTimes(count: number): (status: ContainerStatus) => boolean {
  return ({ restartCount }) => (restartCount ?? 0) >= count;
}

function regular(status: PodStatus): readonly ContainerStatus[] {
  return status.containerStatuses ?? [];
}

function all(status: PodStatus): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...regular(status)];
}
