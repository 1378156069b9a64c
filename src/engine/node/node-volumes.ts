import { attachedVolumes, hasUnreportedVolume } from "../../core/node/node-volumes.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { Attachments } from "../volumes/attachments.ts";

/** Who knows which volumes are in use on the node. */
interface VolumesInUse {
  /** Undefined until all that was found on disk is known: the API server then keeps what it has. */
  volumesInUse(): readonly string[] | undefined;
  readonly isReportAwaited: boolean;
  /** The API server lists these. */
  noteReportedInUse(names: readonly string[]): void;
}

export interface NodeVolumesDeps {
  readonly cluster: Pick<ClusterParts, "node">;
  readonly storage: VolumesInUse;
  readonly wakeups: Pick<Wakeups, "lookAtVolumes">;
}

/** The volumes in use, which the node reports in its status. */
export class NodeVolumes {
  readonly #deps: NodeVolumesDeps;

  constructor(deps: NodeVolumesDeps) {
    this.#deps = deps;
  }

  /** What the node's status is to list; undefined = what it lists already. */
  get inUse(): readonly string[] | undefined {
    return this.#deps.storage.volumesInUse();
  }

  /** A pod waits until the API server knows that its volume is in use. */
  get isReportUrgent(): boolean {
    const { cluster, storage } = this.#deps;
    const { volumesInUse } = cluster.node?.status ?? {};
    return storage.isReportAwaited || hasUnreportedVolume(volumesInUse, this.inUse);
  }

  /** The API server has the node like this, after a report or without need of one. */
  noteReported(node: Node): void {
    const { storage, wakeups } = this.#deps;
    storage.noteReportedInUse(node.status?.volumesInUse ?? []);
    wakeups.lookAtVolumes();
  }
}

/** The volumes that are attached to the node, which controllers report in its status. */
export class NodeAttachments implements Attachments {
  readonly #cluster: Pick<ClusterParts, "node"> | undefined;
  readonly byController: boolean;

  /** `cluster`: undefined = the node belongs to none, and nothing is attached to it by others. */
  constructor(cluster: Pick<ClusterParts, "node"> | undefined, byController: boolean) {
    this.#cluster = cluster;
    this.byController = cluster !== undefined && byController;
  }

  /**
   * Device paths by unique name; undefined until the node has been read. At least as new as the last report of volumes in
   * use, so that a volume which was detached before that report does not count as attached.
   */
  get attached(): ReadonlyMap<string, string> | undefined {
    if (this.#cluster === undefined) return nothingAttached;
    const { node } = this.#cluster;
    return node && attachedVolumes(node);
  }

  get reportedInUse(): readonly string[] {
    return this.#cluster?.node?.status?.volumesInUse ?? [];
  }
}

const nothingAttached: ReadonlyMap<string, string> = new Map();
