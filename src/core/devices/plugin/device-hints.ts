import { type NumaNodes, numaNodeChoices, type TopologyHint } from "../topology/hints.ts";
import type { DeviceInventory } from "./device-inventory.ts";

export interface DeviceHintRequest {
  readonly resource: string;
  readonly count: number;
  /** Devices to choose from. */
  readonly available: ReadonlySet<string>;
  /** Devices of init containers, which have to be used before others. */
  readonly reusable: ReadonlySet<string>;
}

/** Every choice of NUMA nodes near enough devices; preferred are those that need no more nodes than an empty machine would. */
export function deviceHints(
  inventory: DeviceInventory,
  machineNodes: NumaNodes,
  { resource, count, available, reusable }: DeviceHintRequest,
): TopologyHint[] {
  const nodes = nodesWithDevices(inventory, resource, machineNodes);
  const devices = [...inventory.devices(resource).keys()];
  const isNear = (choice: NumaNodes) => (id: string) =>
    inventory.nodesOf(resource, id).some((node) => choice.includes(node));
  // A device without topology is neither near nor far.
  const bound = [...reusable].filter(
    (id) => inventory.devices(resource).get(id)?.nodes !== undefined,
  );
  let fewest = nodes.length;
  const possible: NumaNodes[] = [];
  for (const choice of numaNodeChoices(nodes)) {
    const near = isNear(choice);
    if (devices.filter(near).length >= count) fewest = Math.min(fewest, choice.length);
    if (!bound.every(near)) continue;
    if (bound.length + [...available].filter(near).length >= count) possible.push(choice);
  }
  return possible.map((choice) => ({ nodes: choice, preferred: choice.length === fewest }));
}

/** Machines may have many nodes without a device; choices of those would be wasted on. Unknown nodes do not count. */
function nodesWithDevices(
  inventory: DeviceInventory,
  resource: string,
  machineNodes: NumaNodes,
): NumaNodes {
  const near = [...inventory.devices(resource).values()].flatMap(({ nodes = [] }) => nodes);
  const known = machineNodes.filter((node) => near.includes(node)).toSorted((a, b) => a - b);
  return known.length === 0 ? machineNodes : known;
}
