import { parseGoBool, parseGoDecimal } from "../../../lib/go-number.ts";
import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { cpuSet } from "../../../model/cpu-set.ts";
import type { NumaNode } from "../../../model/machine-topology.ts";
import { noAffinity, type ResourceHints, type TopologyHint } from "./hints.ts";
import { hintsByResource, type MachineNodes, mergeHints } from "./merge-hints.ts";

type TopologyPolicyName = "none" | "best-effort" | "restricted" | "single-numa-node";

/** What is aligned together. With the policy none there is nothing to align. */
type TopologyScope = "container" | "pod" | "none";

export interface TopologyPolicy {
  readonly name: TopologyPolicyName;
  readonly scope: TopologyScope;
  readonly machine: MachineNodes;
}

/** As the kubelet's configuration has them. */
export interface TopologySettings {
  readonly policy: string;
  readonly scope: string;
  readonly options: Readonly<Record<string, string>>;
}

/** With more nodes there are too many choices of them. */
const defaultMaxNodes = 8;

export function topologyPolicy(
  settings: TopologySettings,
  nodes: readonly NumaNode[],
): Result<TopologyPolicy, string> {
  if (settings.policy === "none") {
    return ok({ name: "none", scope: "none", machine: { nodes: numbers(nodes) } });
  }
  const options = parseOptions(settings.options);
  if (!options.ok) return options;
  const { preferClosest, maxNodes } = options.value;
  const distances = new Map(nodes.map(({ id, distances = [] }) => [id, distances]));
  if (preferClosest && nodes.some(({ distances }) => distances === undefined)) {
    return err("cannot discover NUMA topology: error getting NUMA distances from cadvisor");
  }
  if (nodes.length > maxNodes) {
    return err(`unsupported on machines with more than ${maxNodes} NUMA Nodes`);
  }
  const { policy: name, scope } = settings;
  if (name !== "best-effort" && name !== "restricted" && name !== "single-numa-node") {
    return err(`unknown policy: "${name}"`);
  }
  if (scope !== "container" && scope !== "pod") return err(`unknown scope: "${scope}"`);
  // One node is as close as any other.
  const usesDistances = preferClosest && name !== "single-numa-node";
  return ok({
    name,
    scope,
    machine: { nodes: numbers(nodes), ...(usesDistances ? { distances } : {}) },
  });
}

function numbers(nodes: readonly NumaNode[]): readonly number[] {
  return cpuSet(nodes.map(({ id }) => id));
}

interface TopologyOptions {
  readonly preferClosest: boolean;
  readonly maxNodes: number;
}

function parseOptions(options: Readonly<Record<string, string>>): Result<TopologyOptions, string> {
  let preferClosest = false;
  let maxNodes = defaultMaxNodes;
  for (const [name, text] of Object.entries(options)) {
    if (name === "prefer-closest-numa-nodes") {
      const value = parseGoBool(text);
      if (!value.ok) return err(`bad value for option ${quoteText(name)}: ${value.error}`);
      preferClosest = value.value;
    } else if (name === "max-allowable-numa-nodes") {
      const value = parseGoDecimal(text);
      if (!value.ok) {
        return err(`unable to convert policy option to integer ${quoteText(name)}: ${value.error}`);
      }
      if (value.value < defaultMaxNodes) {
        return err(
          `the minimum value of ${quoteText(name)} should not be less than ${defaultMaxNodes}`,
        );
      }
      maxNodes = Number(value.value);
    } else return err(`unknown Topology Manager Policy option: ${quoteText(name)}`);
  }
  return ok({ preferClosest, maxNodes });
}

export interface TopologyDecision {
  readonly hint: TopologyHint;
  readonly admit: boolean;
}

/** The nodes for a container, or for a pod, by the hints of every provider. */
export function decideTopology(
  { name, machine }: TopologyPolicy,
  providers: readonly (ResourceHints | undefined)[],
): TopologyDecision {
  if (name === "none") return { hint: noAffinity, admit: true };
  const resources = hintsByResource(providers);
  if (name !== "single-numa-node") {
    const hint = mergeHints(machine, resources);
    return { hint, admit: name === "best-effort" || hint.preferred };
  }
  const { nodes, preferred } = mergeHints(
    machine,
    resources.map((hints) =>
      hints.filter(({ nodes, preferred }) => preferred && (nodes?.length ?? 1) === 1),
    ),
  );
  const isAny = nodes?.length === machine.nodes.length;
  return { hint: { nodes: isAny ? undefined : nodes, preferred }, admit: preferred };
}
