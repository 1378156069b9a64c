import { hostIpsOf } from "../../core/node/node-host-ips.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";

/** This node as its cluster shows it, and as the machine describes it where the cluster does not. */
export class KnownNode {
  readonly #machine: Node;
  readonly #machineIps: readonly string[];
  readonly #cluster: Pick<ClusterParts, "node"> | undefined;

  /** `cluster`: undefined = the node belongs to none. */
  constructor(
    machine: Node,
    machineIps: readonly string[],
    cluster: Pick<ClusterParts, "node"> | undefined,
  ) {
    this.#machine = machine;
    this.#machineIps = machineIps;
    this.#cluster = cluster;
  }

  /** Labels and taints are the cluster's; what the machine has it knows first. */
  get current(): Node {
    const shown = this.#cluster?.node;
    if (shown === undefined) return this.#machine;
    return { ...shown, status: { ...this.#machine.status, ...shown.status } };
  }

  get labels(): Readonly<Record<string, string>> {
    return this.current.metadata?.labels ?? {};
  }

  get hostIps(): readonly string[] {
    return hostIpsOf(this.#cluster?.node, this.#machineIps);
  }

  /** That of the machine's first address. */
  get primaryIpFamily(): 4 | 6 {
    return this.#machineIps[0]?.includes(":") === true ? 6 : 4;
  }

  get allocatable(): Readonly<Record<string, string>> | undefined {
    return (this.#cluster?.node ?? this.#machine).status?.allocatable;
  }
}
