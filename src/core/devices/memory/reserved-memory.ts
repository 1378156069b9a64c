import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { NumaNode } from "../../../model/machine-topology.ts";
import {
  addQuantity,
  compareQuantity,
  exactInt64,
  formatQuantity,
  type Quantity,
  wholeQuantity,
} from "../../../model/quantity.ts";
import { amountOf, hugePagesPrefix, type ResourceList } from "../../resource/resource-list.ts";

/** What is kept from containers on one NUMA node. */
export interface NodeReservation {
  readonly numaNode: number;
  readonly limits: ResourceList;
}

/** Bytes by NUMA node and resource. */
export type SystemReserved = ReadonlyMap<number, ReadonlyMap<string, bigint>>;

export function isMemoryResource(name: string): boolean {
  return name === "memory" || name.startsWith(hugePagesPrefix);
}

/** What is reserved on each node of this machine: together it must be what the node as a whole reserves. */
export function systemReservedMemory(
  nodes: readonly NumaNode[],
  nodeReservation: ResourceList,
  reservations: readonly NodeReservation[],
): Result<SystemReserved, string> {
  const reserved = new Map(nodes.map(({ id }) => [id, new Map<string, bigint>()]));
  const totals = new Map<string, Quantity>();
  for (const { numaNode, limits } of reservations) {
    if (!reserved.has(numaNode)) {
      return err(
        `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
      );
    }
    for (const [resource, amount] of limits) {
      const before = totals.get(resource);
      totals.set(resource, before === undefined ? amount : addQuantity(amount, before));
    }
  }
  const problem = totalsProblem(totals, nodeReservation);
  if (problem !== undefined) return err(problem);
  for (const { numaNode, limits } of reservations) {
    for (const [resource, amount] of limits) {
      const bytes = exactInt64(amount);
      if (bytes === undefined) return err("could not covert a variable of type Quantity to int64");
      reserved.get(numaNode)?.set(resource, bytes);
    }
  }
  return ok(reserved);
}

function totalsProblem(
  totals: ReadonlyMap<string, Quantity>,
  nodeReservation: ResourceList,
): string | undefined {
  const resources = new Set([
    ...totals.keys(),
    ...[...nodeReservation.keys()].filter(isMemoryResource),
  ]);
  const nothing = wholeQuantity(0n, "DecimalSI");
  for (const resource of resources) {
    const wanted = addQuantity(nothing, amountOf(nodeReservation, resource));
    const total = addQuantity(nothing, amountOf(totals, resource));
    if (compareQuantity(wanted, total) === 0) continue;
    return `the total amount ${quoteText(formatQuantity(total))} of type ${quoteText(resource)} is not equal to the value ${quoteText(formatQuantity(wanted))} determined by Node Allocatable feature`;
  }
  return undefined;
}
