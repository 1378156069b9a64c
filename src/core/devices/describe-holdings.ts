import { cpuSetText } from "../../model/cpu-set.ts";
import { type AnyContainer, type Pod, podContainers } from "../../model/pod.ts";
import { heldIds } from "./plugin/pod-devices.ts";
import type { ResourceManagers } from "./pod-resources.ts";
import type { TopologyHint } from "./topology/hints.ts";
import type { TopologyManager } from "./topology/topology-manager.ts";

/** What the containers of a pod have for themselves and why it is there, a line each. */
export function describeHoldings(
  managers: ResourceManagers,
  topology: TopologyManager,
  pod: Pod,
): string[] {
  return podContainers(pod).flatMap(({ container }) => {
    const held = heldBy(managers, pod, container);
    if (held.length === 0) return [];
    const ref = { podUid: pod.metadata.uid, container: container.name };
    const where = placeText(topology.policy.name, topology.affinity(ref));
    return held.map((what) => `container ${container.name}: ${what}${where}`);
  });
}

function heldBy(
  { cpus, memory, devices, dra }: ResourceManagers,
  pod: Pod,
  container: AnyContainer,
): string[] {
  const { uid } = pod.metadata;
  const ref = { podUid: uid, container: container.name };
  const own = cpus.exclusiveCpus(ref);
  const nodes = memory.nodesFor(ref);
  const claims = dra.containerClaims(pod, container);
  return [
    ...(own.length === 0
      ? []
      : [`CPU ${cpuSetText(own)} alone: its pod is Guaranteed and asks for whole CPUs`]),
    ...(nodes.length === 0 ? [] : [`memory of NUMA node ${nodes.join()}`]),
    ...Array.from(
      devices.podDevices.ofContainer(uid, container.name) ?? [],
      ([resource, held]) => `${resource} ${[...heldIds(held)].toSorted().join()}`,
    ),
    ...(claims.ok ? claims.value : []).map(({ name, drivers }) => {
      const prepared = Array.from(drivers, ([driver, list]) =>
        list.map(({ pool, device }) => `${driver}/${pool}/${device}`),
      );
      return `claim ${name}: ${prepared.flat().join(", ")}`;
    }),
  ];
}

function placeText(policy: string, { nodes, preferred }: TopologyHint): string {
  if (policy === "none" || nodes === undefined) return "";
  const choice = preferred ? "no other choice needs fewer nodes" : "nothing better was free";
  return `; topology policy ${policy}: on NUMA node ${nodes.join()}, ${choice}`;
}
