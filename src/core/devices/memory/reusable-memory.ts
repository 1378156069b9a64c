import type { NumaNodes } from "../topology/hints.ts";
import type { MemoryBlock } from "./memory-state.ts";

/** What init containers of the pod that is being admitted leave to its next containers, in bytes by nodes and resource. */
export interface ReusablePodMemory {
  readonly podUid: string;
  readonly bytes: ReadonlyMap<string, bigint>;
}

export function reusableBytes(
  { bytes }: ReusablePodMemory,
  nodes: NumaNodes,
  resource: string,
): bigint {
  return bytes.get(keyOf(nodes, resource)) ?? 0n;
}

/** After a container got these blocks: one that ends leaves them to the others, any other uses up what it found. */
export function afterBlocks(
  before: ReusablePodMemory,
  blocks: readonly MemoryBlock[],
  containerEnds: boolean,
): ReusablePodMemory {
  const bytes = new Map(before.bytes);
  for (const { nodes, resource, sizeBytes } of blocks) {
    const found = reusableBytes(before, nodes, resource);
    const left = found > sizeBytes ? found - sizeBytes : 0n;
    const most = found > sizeBytes ? found : sizeBytes;
    bytes.set(keyOf(nodes, resource), containerEnds ? most : left);
  }
  return { ...before, bytes };
}

function keyOf(nodes: NumaNodes, resource: string): string {
  return `${nodes.join()} ${resource}`;
}
