/** How much of one kind of memory a NUMA node has, in bytes. */
export interface MemoryTable {
  readonly total: bigint;
  readonly systemReserved: bigint;
  /** What containers can get. */
  readonly allocatable: bigint;
  /** What containers have. */
  readonly reserved: bigint;
  readonly free: bigint;
}

export interface NodeMemory {
  /** One for each kind of memory of each container. */
  readonly assignmentCount: number;
  /** By resource: memory, or huge pages of a size. */
  readonly tables: ReadonlyMap<string, MemoryTable>;
  /** The nodes that containers use together with this one, itself included. A node is used alone or always with the same others. */
  readonly group: readonly number[];
}

/** By the numbers of the NUMA nodes. */
export type MachineMemory = ReadonlyMap<number, NodeMemory>;

export interface MemoryBlock {
  readonly nodes: readonly number[];
  readonly resource: string;
  readonly sizeBytes: bigint;
}

/** Which memory belongs to whom. */
export interface MemoryState {
  readonly machine: MachineMemory;
  /** By the UID of the pod and the name of the container. */
  readonly assignments: ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;
}

export const emptyMemoryState: MemoryState = { machine: new Map(), assignments: new Map() };
