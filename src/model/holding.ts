import type { Node, NodeCondition } from "./generated/kubernetes.ts";

/** What a container has for itself. */
export interface Holding {
  readonly container: string;
  /** "cpu", "memory", the resource of a device plugin, or "claim NAME". */
  readonly resource: string;
  /** Which: CPUs by number, an amount with its NUMA nodes, devices by ID. */
  readonly what: string;
  /** Why it has any, and why it has these. */
  readonly because: string;
}

export interface PodHolding extends Holding {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** A resource of the node, and what is left of it. */
export interface NodeResource {
  readonly resource: string;
  readonly capacity: string;
  readonly allocatable: string;
  /** What can still be handed out, by number, node or ID; absent where no container gets its own. */
  readonly free?: string | undefined;
  /** Devices that are not handed out. */
  readonly unhealthy?: string | undefined;
}

/** How the node hands out what containers have for themselves, by the names of a kubelet's policies. */
export interface ManagerPolicies {
  readonly cpu: string;
  readonly memory: string;
  readonly topology: string;
  readonly topologyScope: string;
}

/** The node as `berth describe node` shows it. */
export interface NodeDescription {
  readonly node: Node;
  readonly policies: ManagerPolicies;
  readonly resources: readonly NodeResource[];
  readonly holdings: readonly PodHolding[];
  /** The node's conditions, without a cluster too; then without the times of their changes. */
  readonly conditions?: readonly NodeCondition[] | undefined;
}

/** An image that the runtime has. */
export interface NodeImage {
  /** With tags first, then with digests. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** What would become of a pod that came now. */
export interface RehearsedPod {
  /** Why the node would not take it. */
  readonly refusal?:
    | { readonly reason: string; readonly message: string; readonly because?: string | undefined }
    | undefined;
  /** What its containers would get for themselves. */
  readonly holdings: readonly Holding[];
  /** The pods that would end to make room for it. */
  readonly makesRoom: readonly string[];
}
