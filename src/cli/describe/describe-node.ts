import type { NodeDescription, NodeResource, PodHolding } from "../../model/holding.ts";
import { Outline } from "./outline.ts";

/** The node, what it has of each resource, and who has what of it for itself. */
export function describeNode({ node, policies, resources, holdings }: NodeDescription): string {
  const out = new Outline();
  out.line(0, "Name:", node.metadata?.name ?? "");
  const { cpu, memory, topology, topologyScope } = policies;
  out.line(0, "CPU Manager:", cpu);
  out.line(0, "Memory Manager:", memory);
  const scope = topology === "none" ? "" : ` (scope ${topologyScope})`;
  out.line(0, "Topology Manager:", `${topology}${scope}`);
  out.line(0, "Resources:");
  for (const resource of resources) describeResource(out, resource, holdings);
  const known = new Set(resources.map(({ resource }) => resource));
  const others = holdings.filter(({ resource }) => !known.has(resource));
  if (others.length > 0) out.list(0, "Claims:", others.map(holderText));
  return out.toString();
}

function describeResource(
  out: Outline,
  { resource, capacity, allocatable, free, unhealthy }: NodeResource,
  holdings: readonly PodHolding[],
): void {
  out.line(1, `${resource}:`);
  out.line(2, "Capacity:", capacity);
  out.line(2, "Allocatable:", allocatable);
  if (free === undefined) return;
  const own = holdings.filter((held) => held.resource === resource);
  out.list(2, "Handed Out:", own.map(holderText));
  out.line(2, "Free:", free === "" ? "<none>" : free);
  if (unhealthy !== undefined) out.line(2, "Unhealthy:", unhealthy);
}

function holderText({ pod, container, resource, what }: PodHolding): string {
  const which = resource.startsWith("claim ") ? `${resource}: ${what}` : what;
  return `${which} to ${pod.namespace}/${pod.name}, container ${container}`;
}
