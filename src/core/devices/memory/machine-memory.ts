import type { NumaNode } from "../../../model/machine-topology.ts";
import { formatQuantity, wholeQuantity } from "../../../model/quantity.ts";
import { hugePagesPrefix } from "../../resource/resource-list.ts";
import type {
  MachineMemory,
  MemoryBlock,
  MemoryState,
  MemoryTable,
  NodeMemory,
} from "./memory-state.ts";
import type { SystemReserved } from "./reserved-memory.ts";

/** The memory of a machine of which no container has any. */
export function unusedMemory(nodes: readonly NumaNode[], reserved: SystemReserved): MachineMemory {
  return new Map(
    nodes.map((node) => {
      const reservedOf = (resource: string) => reserved.get(node.id)?.get(resource) ?? 0n;
      const tables = new Map<string, MemoryTable>();
      let pagesBytes = 0n;
      for (const { pageSizeKb, count } of node.hugePages) {
        const pageBytes = BigInt(pageSizeKb) * 1024n;
        const total = BigInt(count) * pageBytes;
        const resource = `${hugePagesPrefix}${formatQuantity(wholeQuantity(pageBytes, "BinarySI"))}`;
        const systemReserved = reservedOf(resource);
        tables.set(resource, unusedTable(total, systemReserved, total - systemReserved));
        pagesBytes += total;
      }
      const systemReserved = reservedOf("memory");
      const allocatable = node.memoryBytes - systemReserved - pagesBytes;
      tables.set("memory", unusedTable(node.memoryBytes, systemReserved, allocatable));
      return [node.id, { assignmentCount: 0, tables, group: [node.id] }];
    }),
  );
}

function unusedTable(total: bigint, systemReserved: bigint, left: bigint): MemoryTable {
  // More than there is can be reserved: Go's numbers wrap around then.
  const allocatable = BigInt.asUintN(64, left);
  return { total, systemReserved, allocatable, reserved: 0n, free: allocatable };
}

/** Takes memory from the nodes in their order, as much as each has. */
export function takeMemory(
  machine: MachineMemory,
  { nodes, resource, sizeBytes }: MemoryBlock,
): MachineMemory {
  const after = new Map(machine);
  let missing = sizeBytes;
  for (const node of nodes) {
    const memory = machine.get(node);
    if (memory === undefined) continue;
    const { free = 0n } = memory.tables.get(resource) ?? {};
    const taken = free < missing ? free : missing;
    missing -= taken;
    after.set(node, {
      ...withMoved(memory, resource, taken),
      assignmentCount: memory.assignmentCount + 1,
      group: nodes,
    });
  }
  return after;
}

/** Gives memory back to the nodes in their order, as much as was taken from each. */
export function releaseMemory(
  machine: MachineMemory,
  { nodes, resource, sizeBytes }: MemoryBlock,
): MachineMemory {
  const after = new Map(machine);
  let left = sizeBytes;
  for (const node of nodes) {
    const memory = machine.get(node);
    if (memory === undefined) continue;
    const { reserved = 0n } = memory.tables.get(resource) ?? {};
    const released = reserved < left ? reserved : left;
    left -= released;
    const assignmentCount = memory.assignmentCount - 1;
    after.set(node, {
      ...withMoved(memory, resource, -released),
      assignmentCount,
      group: assignmentCount === 0 ? [node] : memory.group,
    });
  }
  return after;
}

/** Moves bytes from free to reserved. */
function withMoved(memory: NodeMemory, resource: string, bytes: bigint): NodeMemory {
  const table = memory.tables.get(resource);
  if (table === undefined || bytes === 0n) return memory;
  const moved = { ...table, reserved: table.reserved + bytes, free: table.free - bytes };
  return { ...memory, tables: new Map(memory.tables).set(resource, moved) };
}

/** Why the memory that was found on disk cannot be that of this machine. */
export function machineProblem(unused: MachineMemory, state: MemoryState): string | undefined {
  let expected = unused;
  for (const [podUid, ofPod] of state.assignments) {
    for (const [container, blocks] of ofPod) {
      for (const block of blocks) {
        const problem = blockProblem(unused, block);
        if (problem !== undefined) {
          return `[memorymanager] (pod: ${podUid}, container: ${container}) ${problem}`;
        }
        expected = takeMemory(expected, block);
      }
    }
  }
  return isSameMachine(state.machine, expected)
    ? undefined
    : "[memorymanager] the expected machine state is different from the real one";
}

function blockProblem(
  machine: MachineMemory,
  { nodes, resource }: MemoryBlock,
): string | undefined {
  for (const node of nodes) {
    const memory = machine.get(node);
    if (memory === undefined) return "the memory assignment uses the NUMA that does not exist";
    if (!memory.tables.has(resource)) {
      return "the memory assignment uses memory resource that does not exist";
    }
  }
  return undefined;
}

function isSameMachine(a: MachineMemory, b: MachineMemory): boolean {
  if (a.size !== b.size) return false;
  return Array.from(a).every(([node, memory]) => {
    const other = b.get(node);
    if (other === undefined || memory.assignmentCount !== other.assignmentCount) return false;
    if (!isSameGroup(memory.group, other.group)) return false;
    if (memory.tables.size !== other.tables.size) return false;
    return Array.from(memory.tables).every(([resource, table]) => {
      const otherTable = other.tables.get(resource);
      return (
        otherTable !== undefined &&
        table.total === otherTable.total &&
        table.systemReserved === otherTable.systemReserved &&
        table.allocatable === otherTable.allocatable &&
        sumOf(a, memory.group, resource, "free") === sumOf(b, memory.group, resource, "free") &&
        sumOf(a, memory.group, resource, "reserved") ===
          sumOf(b, memory.group, resource, "reserved")
      );
    });
  });
}

export function isSameGroup(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((node) => b.includes(node));
}

/** How much certain nodes have together. */
export function sumOf(
  machine: MachineMemory,
  nodes: readonly number[],
  resource: string,
  field: keyof MemoryTable,
): bigint {
  return nodes.reduce(
    (sum, node) => sum + (machine.get(node)?.tables.get(resource)?.[field] ?? 0n),
    0n,
  );
}
