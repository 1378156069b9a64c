import { attachedVolumes, hasUnreportedVolume } from "../../core/node/node-volumes.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";

/** Who knows which volumes are in use on the node. */
interface VolumesInUse {
  /** Undefined until all that was found on disk is known: the API server then keeps what it has. */
  volumesInUse(): readonly string[] | undefined;
  /** The API server lists these. */
  noteReportedInUse(names: readonly string[]): void;
}

export interface NodeVolumesDeps {
  readonly cluster: Pick<ClusterParts, "node">;
  /** A controller attaches and detaches volumes, not this node. */
  readonly byController: boolean;
  /** Undefined = nothing here mounts volumes that others attach. */
  readonly source: VolumesInUse | undefined;
  readonly wakeups: Pick<Wakeups, "lookAtVolumes">;
}

/** Volumes in the node's status: those in use, which the node reports, and those attached, which controllers report to it. */
export class NodeVolumes {
  readonly #deps: NodeVolumesDeps;

  constructor(deps: NodeVolumesDeps) {
    this.#deps = deps;
  }

  get byController(): boolean {
    return this.#deps.byController;
  }

  /**
   * Device paths by unique name; undefined until the node has been read. At least as new as the last report of volumes in
   * use, so that a volume which was detached before that report does not count as attached.
   */
  get attached(): ReadonlyMap<string, string> | undefined {
    const { node } = this.#deps.cluster;
    return node && attachedVolumes(node);
  }

  /** What the node's status is to list; undefined = what it lists already. */
  get inUse(): readonly string[] | undefined {
    return this.#deps.source?.volumesInUse();
  }

  /** A pod waits until the API server knows that its volume is in use. */
  get isReportUrgent(): boolean {
    return hasUnreportedVolume(this.#deps.cluster.node?.status?.volumesInUse, this.inUse);
  }

  /** The API server has the node like this, after a report or without need of one. */
  noteReported(node: Node): void {
    const { source, wakeups } = this.#deps;
    if (source === undefined) return;
    source.noteReportedInUse(node.status?.volumesInUse ?? []);
    wakeups.lookAtVolumes();
  }
}
