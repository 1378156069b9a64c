// What a program and the process that runs its node say to each other.

/** A node with real containers, as `berth up` runs it. */
export interface RealNodeOrder {
  readonly kind: "real";
  readonly dataDir: string;
  readonly manifests: string;
  readonly nodeName?: string | undefined;
  /** An existing CRI socket; undefined = a containerd of Berth's own. */
  readonly runtimeEndpoint?: string | undefined;
  readonly bridge?: string | undefined;
  readonly subnet?: string | undefined;
  readonly cgroupRoot?: string | undefined;
}

/** A node whose containers follow scripts, as `berth sim` runs it. */
interface SimulatedNodeOrder {
  readonly kind: "simulated";
  readonly dataDir: string;
  readonly manifests: string;
  readonly nodeName: string;
  readonly speed: number;
}

export interface NodeOrder {
  readonly node: RealNodeOrder | SimulatedNodeOrder;
  /** Nothing of the node may outlive its program, the data folder included. */
  readonly isTemporary: boolean;
  /** The process of the node was killed: only what it left is removed. */
  readonly isRemovalOnly?: boolean | undefined;
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

/** The first message is the order; the second one asks for the end. */
export type ToNode =
  | { readonly kind: "start"; readonly order: NodeOrder }
  | { readonly kind: "stop"; readonly remove: boolean };

export type FromNode =
  /** The node's API answers. */
  | { readonly kind: "ready" }
  /** The node has ended or could not start; undefined = as it was asked to. `hasRemoved`: also where a part of the removal failed. */
  | { readonly kind: "ended"; readonly problem: string | undefined; readonly hasRemoved: boolean };
