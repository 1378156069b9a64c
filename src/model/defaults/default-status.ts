import type { ContainerStatus, PodStatus } from "../generated/kubernetes.ts";
import { roundAmounts, withRoundedAmounts } from "./default-resources.ts";

const statusLists = [
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
] as const;

/** Brings a status that someone wrote into a manifest into the form that the API gives it. */
export function defaultStatus(status: PodStatus): PodStatus {
  const { allocatedResources } = status;
  const resources = withRoundedAmounts(status.resources);
  return {
    ...alignPodIps(status),
    ...Object.fromEntries(
      statusLists.flatMap((name) => {
        const list = status[name];
        return list === undefined ? [] : [[name, list.map(defaultContainerStatus)]];
      }),
    ),
    ...(allocatedResources === undefined
      ? {}
      : { allocatedResources: roundAmounts(allocatedResources) }),
    ...(resources === undefined ? {} : { resources }),
  };
}

function defaultContainerStatus(status: ContainerStatus): ContainerStatus {
  const { allocatedResources } = status;
  const resources = withRoundedAmounts(status.resources);
  return {
    ...status,
    ...(allocatedResources === undefined
      ? {}
      : { allocatedResources: roundAmounts(allocatedResources) }),
    ...(resources === undefined ? {} : { resources }),
  };
}

/** The single address is the first of the list; where they differ the single one holds. */
function alignPodIps(status: PodStatus): PodStatus {
  const { podIP, podIPs } = status;
  const first = podIPs?.[0]?.ip;
  if (podIP !== undefined) {
    return first === podIP ? status : { ...status, podIPs: [{ ip: podIP }] };
  }
  return first === undefined || first === "" ? status : { ...status, podIP: first };
}
