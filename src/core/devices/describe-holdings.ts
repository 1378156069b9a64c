import { cpuSetText } from "../../model/cpu-set.ts";
import type { Holding } from "../../model/holding.ts";
import { type AnyContainer, type Pod, podContainers } from "../../model/pod.ts";
import { formatQuantity, wholeQuantity } from "../../model/quantity.ts";
import type { ClaimInfo } from "./dra/claim-info.ts";
import { heldIds } from "./plugin/pod-devices.ts";
import type { ResourceManagers } from "./pod-resources.ts";
import type { TopologyManager } from "./topology/topology-manager.ts";

/** What the containers of a pod have for themselves, why they have any and why it is these. */
export function describeHoldings(
  managers: ResourceManagers,
  topology: TopologyManager,
  pod: Pod,
): Holding[] {
  return podContainers(pod).flatMap(({ container }) => {
    const { name } = container;
    const place = topology.because({ podUid: pod.metadata.uid, container: name });
    const aligned =
      place === undefined ? "" : `; topology policy ${topology.policy.name}: ${place}`;
    return [
      ...alignedHoldings(managers, pod, container).map(({ because, ...held }) => ({
        container: name,
        ...held,
        because: `${because}${aligned}`,
      })),
      ...claimHoldings(managers, pod, container).map((held) => ({ container: name, ...held })),
    ];
  });
}

type ContainerHolding = Omit<Holding, "container">;

function alignedHoldings(
  { cpus, memory, devices }: ResourceManagers,
  pod: Pod,
  { name }: AnyContainer,
): ContainerHolding[] {
  const { uid } = pod.metadata;
  const ref = { podUid: uid, container: name };
  const own = cpus.exclusiveCpus(ref);
  const cpuReason = `its pod is Guaranteed and it asks for whole CPUs; ${cpus.choice}`;
  return [
    ...(own.length === 0 ? [] : [{ resource: "cpu", what: cpuSetText(own), because: cpuReason }]),
    ...memory.blocks(ref).map(({ resource, sizeBytes, nodes }) => ({
      resource,
      what: `${bytesText(sizeBytes)} of NUMA node ${nodes.join()}`,
      because: "its pod is Guaranteed",
    })),
    ...Array.from(devices.podDevices.ofContainer(uid, name) ?? [], ([resource, held]) => ({
      resource,
      what: [...heldIds(held)].toSorted().join(),
      because: `its limits name it; ${held.because ?? "those it had when the agent started"}`,
    })),
  ];
}

/** Which devices a claim gets is the scheduler's decision. */
function claimHoldings(
  { dra }: ResourceManagers,
  pod: Pod,
  container: AnyContainer,
): ContainerHolding[] {
  const claims = dra.containerClaims(pod, container);
  return (claims.ok ? claims.value : []).map((claim) => ({
    resource: `claim ${claim.name}`,
    what: claimedDevices(claim),
    because: "allocated to its ResourceClaim by the scheduler",
  }));
}

function claimedDevices({ drivers }: ClaimInfo): string {
  return Array.from(drivers, ([driver, list]) =>
    list.map(({ pool, device }) => `${driver}/${pool}/${device}`),
  )
    .flat()
    .join();
}

export function bytesText(bytes: bigint): string {
  return formatQuantity(wholeQuantity(bytes, "BinarySI"));
}
