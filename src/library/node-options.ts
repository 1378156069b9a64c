import { BerthError } from "./berth-error.ts";

interface CommonNodeOptions {
  /** Name of the node, and the end of the names of its pods (default: the host's name, or "sim"). */
  readonly nodeName?: string;
  /** Called with every line of the agent's log, a JSON object. */
  readonly onLog?: (line: string) => void;
  /** What the agent logs (default "warn"). */
  readonly logLevel?: "debug" | "info" | "warn" | "error";
  /** Gives the start up; the node is ended then. */
  readonly signal?: AbortSignal;
}

/** Real containers: needs root, and runc and containerd or another CRI runtime. */
export interface RealNodeOptions extends CommonNodeOptions {
  readonly kind: "real";
  /**
   * Folder of the node's data. With one the pods go on running when the program ends, and the next node on that folder takes
   * them over. Without one the node is temporary: when the program ends, in whatever way, everything of it is removed.
   */
  readonly dataDir?: string;
  /** Socket of an existing CRI runtime, such as unix:///run/containerd/containerd.sock (default: a containerd of the node's own). */
  readonly runtimeEndpoint?: string;
  /** Bridge of the pods' network (default berth0). Nodes that run at the same time need different ones. */
  readonly bridge?: string;
  /** IPv4 network of the pods (default 10.88.0.0/16). Nodes that run at the same time need different ones. */
  readonly subnet?: string;
  /** The cgroup below which all pods lie (default: one of this data folder alone). */
  readonly cgroupRoot?: string;
}

/** The real agent on a simulated machine: no root, no containers; annotations of the pods say what happens to them. */
export interface SimulatedNodeOptions extends CommonNodeOptions {
  readonly kind: "simulated";
  /** How many times as fast as real time the node's time passes, at most 1000 (default 1). */
  readonly speed?: number;
}

export type NodeOptions = RealNodeOptions | SimulatedNodeOptions;

const fastest = 1000;

/** Programs without types give anything. */
export function requireNodeOptions(options: NodeOptions): void {
  const { kind } = options;
  if (kind !== "real" && kind !== "simulated") {
    throw new BerthError("invalid-options", `kind: "${String(kind)}" is not "real" or "simulated"`);
  }
  if (kind !== "simulated") return;
  const { speed = 1 } = options;
  if (speed > 0 && speed <= fastest) return;
  const problem = `speed: ${String(speed)} is not a speed: give a number above 0, at most ${fastest}`;
  throw new BerthError("invalid-options", problem);
}
