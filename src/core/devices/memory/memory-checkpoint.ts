import { fnv1a } from "../../../lib/fnv.ts";
import { jsonText, quoteText } from "../../../lib/go-text.ts";
import type { JsonNode } from "../../../lib/json-node.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import {
  corruptStateFile,
  dumpMap,
  isChecksumOf,
  jsonMap,
  jsonStruct,
  readField,
  readList,
  readMap,
  readStateFile,
  readText,
  readWhole,
} from "../state-file.ts";
import type { MemoryBlock, MemoryState, MemoryTable, NodeMemory } from "./memory-state.ts";

/** What the kubelet writes to memory_manager_state. */
export function memoryCheckpointText(policy: string, state: MemoryState): string {
  const machine = new Map(Array.from(state.machine, ([node, memory]) => [`${node}`, memory]));
  return jsonStruct([
    ["policyName", jsonText(policy)],
    ["machineState", jsonMap(machine, nodeJson)],
    ...(state.assignments.size === 0
      ? []
      : [["entries", jsonMap(state.assignments, (ofPod) => jsonMap(ofPod, blocksJson))] as const]),
    ["checksum", `${fnv1a(memoryCheckpointDump(policy, state))}`],
  ]);
}

function nodeJson({ assignmentCount, tables, group }: NodeMemory): string {
  return jsonStruct([
    ["numberOfAssignments", `${assignmentCount}`],
    ["memoryMap", jsonMap(tables, tableJson)],
    ["cells", `[${group.join()}]`],
  ]);
}

function tableJson(table: MemoryTable): string {
  return jsonStruct([
    ["total", `${table.total}`],
    ["systemReserved", `${table.systemReserved}`],
    ["allocatable", `${table.allocatable}`],
    ["reserved", `${table.reserved}`],
    ["free", `${table.free}`],
  ]);
}

function blocksJson(blocks: readonly MemoryBlock[]): string {
  const texts = blocks.map(({ nodes, resource, sizeBytes }) =>
    jsonStruct([
      ["numaAffinity", `[${nodes.join()}]`],
      ["type", jsonText(resource)],
      ["size", `${sizeBytes}`],
    ]),
  );
  return `[${texts.join()}]`;
}

/** The text whose hash is the checksum in the file. */
export function memoryCheckpointDump(
  policy: string,
  { machine, assignments }: MemoryState,
  name = "MemoryManagerCheckpoint",
): string {
  const nodes = [...machine]
    .toSorted(([a], [b]) => a - b)
    .map(([node, memory]) => `${node}:<*>${nodeDump(memory)}`);
  const entries = dumpMap(assignments, (ofPod) => dumpMap(ofPod, blocksDump));
  return `(*state.${name}){PolicyName:(string)${policy} MachineState:(state.NUMANodeMap)map[${nodes.join(" ")}] Entries:(state.ContainerMemoryAssignments)${entries} Checksum:(checksum.Checksum)0}`;
}

function nodeDump({ assignmentCount, tables, group }: NodeMemory): string {
  const tablesText = dumpMap(tables, (table) => `<*>${tableDump(table)}`);
  return `{NumberOfAssignments:(int)${assignmentCount} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${tablesText} Cells:([]int)[${group.join(" ")}]}`;
}

function tableDump(table: MemoryTable): string {
  return `{TotalMemSize:(uint64)${table.total} SystemReserved:(uint64)${table.systemReserved} Allocatable:(uint64)${table.allocatable} Reserved:(uint64)${table.reserved} Free:(uint64)${table.free}}`;
}

function blocksDump(blocks: readonly MemoryBlock[]): string {
  const texts = blocks.map(
    ({ nodes, resource, sizeBytes }) =>
      `{NUMAAffinity:([]int)[${nodes.join(" ")}] Type:(v1.ResourceName)${resource} Size:(uint64)${sizeBytes}}`,
  );
  return `[${texts.join(" ")}]`;
}

export function parseMemoryCheckpoint(text: string, policy: string): Result<MemoryState, string> {
  const parsed = readStateFile(text, (root) => ({
    found: readField(root, "policyName", readText) ?? "",
    checksum: readField(root, "checksum", readWhole) ?? 0n,
    state: {
      machine: new Map(
        Array.from(
          readField(root, "machineState", (node, field) => readMap(node, field, readNode)) ?? [],
          ([node, memory]) => [Number(node), memory],
        ),
      ),
      assignments:
        readField(root, "entries", (node, field) =>
          readMap(node, field, (ofPod) => readMap(ofPod, field, readBlocks)),
        ) ?? new Map<string, Map<string, MemoryBlock[]>>(),
    },
  }));
  if (!parsed.ok) return parsed;
  const { found, checksum, state } = parsed.value;
  const dumps = ["MemoryManagerCheckpoint", "MemoryManagerCheckpointV1"].map((name) =>
    memoryCheckpointDump(found, state, name),
  );
  if (!isChecksumOf(checksum, dumps)) return err(corruptStateFile);
  return found === policy
    ? ok(state)
    : err(
        `[memorymanager] configured policy ${quoteText(policy)} differs from state checkpoint policy ${quoteText(found)}`,
      );
}

function readNode(node: JsonNode): NodeMemory {
  return {
    assignmentCount: Number(readField(node, "numberOfAssignments", readWhole) ?? 0n),
    tables:
      readField(node, "memoryMap", (map, field) => readMap(map, field, readTable)) ??
      new Map<string, MemoryTable>(),
    group: readField(node, "cells", (list, field) => readList(list, field, readNumber)) ?? [],
  };
}

function readTable(node: JsonNode): MemoryTable {
  const bytes = (name: string) => readField(node, name, readWhole) ?? 0n;
  return {
    total: bytes("total"),
    systemReserved: bytes("systemReserved"),
    allocatable: bytes("allocatable"),
    reserved: bytes("reserved"),
    free: bytes("free"),
  };
}

function readBlocks(node: JsonNode, field: string): MemoryBlock[] {
  return readList(node, field, (block) => ({
    nodes: readField(block, "numaAffinity", (list, name) => readList(list, name, readNumber)) ?? [],
    resource: readField(block, "type", readText) ?? "",
    sizeBytes: readField(block, "size", readWhole) ?? 0n,
  }));
}

function readNumber(node: JsonNode, field: string): number {
  return Number(readWhole(node, field));
}
