// Says in words why containers get what they ask for on these NUMA nodes, from what the decision was made of.
import type { Container } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import { formatQuantity, quantityValue, wholeQuantity } from "../../../model/quantity.ts";
import { podLimits } from "../../resource/pod-resources.ts";
import { type ResourceList, resourceList } from "../../resource/resource-list.ts";
import { exclusiveCpuCount, podExclusiveCpuCount } from "../cpu/exclusive-cpus.ts";
import { memoryRequests, podMemoryRequests } from "../memory/memory-requests.ts";
import {
  choices,
  type NumaNodes,
  numaNodeChoices,
  type ResourceHints,
  type TopologyHint,
} from "./hints.ts";
import type { TopologyDecision, TopologyPolicy } from "./topology-policy.ts";

/** What is asked for, by resource. */
type Asked = ReadonlyMap<string, string>;

interface PlacedResource {
  readonly name: string;
  readonly hints: readonly TopologyHint[];
  /** The choices of nodes that have enough of it, as text. */
  readonly choices: ReadonlySet<string>;
}

export function askedByContainer(pod: Pod, container: Container): Asked {
  const memory = memoryRequests(container);
  return askedText(resourceList(container.resources?.limits), {
    cpus: exclusiveCpuCount(pod, container),
    memory: memory.ok ? memory.value : new Map(),
  });
}

export function askedByPod(pod: Pod): Asked {
  const memory = podMemoryRequests(pod);
  return askedText(podLimits(pod, { excludeOverhead: true }), {
    cpus: podExclusiveCpuCount(pod),
    memory: memory.ok ? memory.value : new Map(),
  });
}

function askedText(
  limits: ResourceList,
  { cpus, memory }: { readonly cpus: number; readonly memory: ReadonlyMap<string, bigint> },
): Asked {
  const devices = Array.from(limits, ([name, amount]): [string, string] => [
    name,
    `${quantityValue(amount)} free healthy ${name}`,
  ]);
  const bytes = Array.from(memory, ([name, size]): [string, string] => [
    name,
    `${formatQuantity(wholeQuantity(size, "BinarySI"))} of free ${name}`,
  ]);
  return new Map([...devices, ...bytes, ["cpu", `${cpus} free CPU${cpus === 1 ? "" : "s"}`]]);
}

/** Why these NUMA nodes were agreed on, or why none could be. */
export function explainTopology(
  policy: TopologyPolicy,
  providers: readonly (ResourceHints | undefined)[],
  { hint, admit }: TopologyDecision,
  asked: Asked,
): string {
  const all = policy.machine.nodes;
  const resources = placedResources(policy, providers);
  if (resources.length === 0) return "any NUMA node: nothing that it asks for is near one";
  const separately = resources
    .map(({ name, hints }) => `${asked.get(name) ?? name} on ${placesText(hints)}`)
    .join(", ");
  if (!admit) {
    const lack =
      policy.name === "single-numa-node"
        ? "no single NUMA node has all that it asks for"
        : "no choice of as few NUMA nodes as it could need has all that it asks for";
    return `${lack}: ${separately}`;
  }
  if (all.length === 1) return `${nodesText(all)}: this machine has no other`;
  if (hint.nodes === undefined) return "any NUMA node: all have what it asks for";
  const { nodes } = hint;
  const isFit = (choice: NumaNodes) =>
    resources.every((resource) => resource.choices.has(choice.join()));
  if (!isFit(nodes))
    return `${nodesText(nodes)}: the best where not all is together: ${separately}`;
  const wanted = listText(resources.map(({ name }) => asked.get(name) ?? name));
  const rivals = [...choices(all, nodes.length)].filter(isFit);
  return `${nodesText(nodes)}: ${choiceText(policy, nodes, rivals)} with ${wanted}${widthText(all, nodes, isFit)}`;
}

/** Those that are near nodes, with the hints that the policy lets count. */
function placedResources(
  { name: policy }: TopologyPolicy,
  providers: readonly (ResourceHints | undefined)[],
): PlacedResource[] {
  return providers.flatMap((provider) =>
    Array.from(provider ?? []).flatMap(([name, hints]): PlacedResource[] => {
      if (hints === undefined) return [];
      if (policy !== "single-numa-node") return [placed(name, hints)];
      return [
        placed(
          name,
          hints.filter(({ nodes }) => nodes?.length === 1),
        ),
      ];
    }),
  );
}

function placed(name: string, hints: readonly TopologyHint[]): PlacedResource {
  return { name, hints, choices: new Set(hints.map(({ nodes }) => nodes?.join() ?? "")) };
}

function choiceText(
  { machine }: TopologyPolicy,
  nodes: NumaNodes,
  rivals: readonly NumaNodes[],
): string {
  if (rivals.length === 1) return nodes.length === 1 ? "the only one" : "the only ones together";
  const rank = machine.distances === undefined ? "the first" : "the closest";
  return `${rank} of ${rivals.map((rival) => rival.join("+")).join(", ")}`;
}

function widthText(
  all: NumaNodes,
  nodes: NumaNodes,
  isFit: (choice: NumaNodes) => boolean,
): string {
  if (nodes.length === 1) return "";
  for (const choice of numaNodeChoices(all)) {
    if (choice.length === nodes.length) break;
    if (isFit(choice)) return "";
  }
  return nodes.length === 2 ? "; no single one has that" : "; no fewer have that";
}

/** The smallest choices. */
function placesText(hints: readonly TopologyHint[]): string {
  const known = hints.flatMap(({ nodes }) => (nodes === undefined ? [] : [nodes]));
  if (known.length === 0) return "none";
  const fewest = Math.min(...known.map(({ length }) => length));
  const places = known.filter(({ length }) => length === fewest);
  return `NUMA node${fewest * places.length === 1 ? "" : "s"} ${places.map((nodes) => nodes.join("+")).join(" or ")}`;
}

function nodesText(nodes: NumaNodes): string {
  return `NUMA node${nodes.length === 1 ? "" : "s"} ${nodes.join()}`;
}

function listText(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}
