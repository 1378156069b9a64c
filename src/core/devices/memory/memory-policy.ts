import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { NumaNode } from "../../../model/machine-topology.ts";
import type { ResourceList } from "../../resource/resource-list.ts";
import { unusedMemory } from "./machine-memory.ts";
import type { MachineMemory } from "./memory-state.ts";
import { type NodeReservation, systemReservedMemory } from "./reserved-memory.ts";

/** As the kubelet's configuration, and what follows from it, has them. */
export interface MemorySettings {
  readonly policy: string;
  /** What the node reserves as a whole: for Kubernetes, the system and eviction. */
  readonly nodeReservation: ResourceList;
  readonly reservedMemory: readonly NodeReservation[];
}

export type MemoryPolicy =
  | { readonly name: "None" }
  | { readonly name: "Static"; readonly unused: MachineMemory };

export function memoryPolicy(
  { policy, nodeReservation, reservedMemory }: MemorySettings,
  nodes: readonly NumaNode[],
): Result<MemoryPolicy, string> {
  if (policy === "None") return ok({ name: "None" });
  if (policy === "BestEffort") {
    return err(`policy ${quoteText(policy)} is not available for platform "linux"`);
  }
  if (policy !== "Static") return err(`unknown policy: ${quoteText(policy)}`);
  const reserved = systemReservedMemory(nodes, nodeReservation, reservedMemory);
  if (!reserved.ok) return reserved;
  const hasMemory = Array.from(reserved.value.values()).some(
    (ofNode) => (ofNode.get("memory") ?? 0n) > 0n,
  );
  return hasMemory
    ? ok({ name: "Static", unused: unusedMemory(nodes, reserved.value) })
    : err("[memorymanager] you should specify the system reserved memory");
}
