/** What can run short on a node. */
export type Signal =
  | "memory.available"
  | "nodefs.available"
  | "nodefs.inodesFree"
  | "imagefs.available"
  | "imagefs.inodesFree"
  | "containerfs.available"
  | "containerfs.inodesFree"
  | "allocatableMemory.available"
  | "pid.available";

/** The condition of a node that is short of something. */
export type NodePressure = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** What is taken back from pods; inodes and pids are not resources that pods request. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

interface SignalFacts {
  readonly pressure: NodePressure;
  readonly resource: StarvedResource;
}

const disk: SignalFacts = { pressure: "DiskPressure", resource: "ephemeral-storage" };
const inodes: SignalFacts = { pressure: "DiskPressure", resource: "inodes" };
const memory: SignalFacts = { pressure: "MemoryPressure", resource: "memory" };

const facts: Readonly<Record<Signal, SignalFacts>> = {
  "memory.available": memory,
  "allocatableMemory.available": memory,
  "nodefs.available": disk,
  "nodefs.inodesFree": inodes,
  "imagefs.available": disk,
  "imagefs.inodesFree": inodes,
  "containerfs.available": disk,
  "containerfs.inodesFree": inodes,
  "pid.available": { pressure: "PIDPressure", resource: "pids" },
};

export function isSignal(name: string): name is Signal {
  return Object.hasOwn(facts, name);
}

export function signalPressure(signal: Signal): NodePressure {
  return facts[signal].pressure;
}

export function signalResource(signal: Signal): StarvedResource {
  return facts[signal].resource;
}

export function isMemorySignal(signal: Signal): boolean {
  return facts[signal].resource === "memory";
}
