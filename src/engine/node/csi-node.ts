import { errorText } from "../../lib/error-text.ts";
import type { CSINode, Node } from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Log } from "../../ports/log.ts";
import { unlessStatus } from "../cluster/pod-requests.ts";

const csiNodes = "/apis/storage.k8s.io/v1/csinodes";
const migratedAnnotation = "storage.alpha.kubernetes.io/migrated-plugins";
/** Volume kinds that the cluster is to serve by CSI drivers. */
const migratedPlugins = [
  "kubernetes.io/aws-ebs",
  "kubernetes.io/azure-disk",
  "kubernetes.io/azure-file",
  "kubernetes.io/cinder",
  "kubernetes.io/gce-pd",
  "kubernetes.io/portworx-volume",
  "kubernetes.io/vsphere-volume",
].join(",");

export interface CsiNodeDeps {
  readonly api: ApiClient;
  readonly log: Log;
  readonly nodeName: string;
}

/** Keeps the object by which the scheduler knows the node's CSI drivers. The node is not ready without it. */
export class CsiNode {
  readonly #deps: CsiNodeDeps;
  readonly #path: string;
  #ownerUid: string | undefined;
  #problem: string | undefined = "CSINode is not yet initialized";

  constructor(deps: CsiNodeDeps) {
    this.#deps = deps;
    this.#path = `${csiNodes}/${encodeURIComponent(deps.nodeName)}`;
  }

  /** Why the node is not ready; undefined when all is well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Makes the object there and the node's own. Costs nothing once that is done; returns whether `problem` changed. */
  async ensure(node: Node, signal: AbortSignal): Promise<boolean> {
    const uid = node.metadata?.uid ?? "";
    if (uid === this.#ownerUid) return false;
    const before = this.#problem;
    try {
      await this.#makeOwn(uid, signal);
      this.#ownerUid = uid;
      this.#problem = undefined;
    } catch (error) {
      signal.throwIfAborted();
      this.#problem = `failed to initialize CSINode: ${errorText(error)}`;
      this.#deps.log.warn("cannot initialize the csi node", { error: errorText(error) });
    }
    return this.#problem !== before;
  }

  async #makeOwn(uid: string, signal: AbortSignal): Promise<void> {
    const { api, nodeName } = this.#deps;
    const read = api.send<CSINode>({ method: "GET", path: this.#path }, signal);
    const known = await unlessStatus([404], read);
    const isOwn = known?.metadata?.ownerReferences?.some(
      (owner) => owner.kind === "Node" && owner.name === nodeName && owner.uid === uid,
    );
    if (known !== undefined && isOwn === true) {
      await this.#annotate(known, signal);
      return;
    }
    // It belongs to a former node of this name.
    if (known !== undefined) await api.send({ method: "DELETE", path: this.#path }, signal);
    const body: CSINode = {
      kind: "CSINode",
      apiVersion: "storage.k8s.io/v1",
      metadata: {
        name: nodeName,
        annotations: { [migratedAnnotation]: migratedPlugins },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }],
      },
      spec: { drivers: [] },
    };
    await api.send({ method: "POST", path: csiNodes, body }, signal);
  }

  async #annotate(known: CSINode, signal: AbortSignal): Promise<void> {
    if (known.metadata?.annotations?.[migratedAnnotation] === migratedPlugins) return;
    const annotations = { ...known.metadata?.annotations, [migratedAnnotation]: migratedPlugins };
    const body = { ...known, metadata: { ...known.metadata, annotations } };
    await this.#deps.api.send({ method: "PUT", path: this.#path, body }, signal);
  }
}
