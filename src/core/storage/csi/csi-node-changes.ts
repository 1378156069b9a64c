// What the registration of a CSI driver changes in the Node and CSINode objects. Each function returns the object it was
// given when nothing has to change.
import { compareText } from "../../../lib/compare-text.ts";
import { deepEqual } from "../../../lib/deep-equal.ts";
import { jsonText, quoteText } from "../../../lib/go-text.ts";
import type { JsonNode } from "../../../lib/json-node.ts";
import { parseJson } from "../../../lib/json-parser.ts";
import { ownValue } from "../../../lib/own-value.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { CSINode, CSINodeDriver, Node } from "../../../model/generated/kubernetes.ts";

/** A driver's answer about this node. */
export interface DriverNodeInfo {
  readonly driver: string;
  readonly nodeId: string;
  /** How many volumes can be attached; 0 = no limit. */
  readonly maxVolumes: bigint;
  readonly topology: Readonly<Record<string, string>>;
}

const nodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";
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
];
const maxCount = 2n ** 31n - 1n;

/** The node with the driver's id for it, and labelled with its topology; `isChanged` also when the labels are there already. */
export function nodeWithDriver(
  node: Node,
  { driver, nodeId, topology }: DriverNodeInfo,
): Result<{ readonly node: Node; readonly isChanged: boolean }, string> {
  const known = readNodeIds(node);
  if (!known.ok) return known;
  const ids = known.value;
  const isIdKnown = ids.get(driver) === nodeId;
  const withId = isIdKnown ? node : writeNodeIds(node, ids.set(driver, nodeId));
  const segments = Object.entries(topology);
  const labels = node.metadata?.labels;
  for (const [key, value] of segments) {
    const present = ownValue(labels, key);
    if (present !== undefined && present !== value) return err(collision(key, value, present));
  }
  if (segments.length === 0) return ok({ node: withId, isChanged: !isIdKnown });
  const metadata = { ...withId.metadata, labels: { ...labels, ...topology } };
  return ok({ node: { ...withId, metadata }, isChanged: true });
}

/** The node without the driver's id for it. Its labels stay, as a kubelet leaves them: volumes may depend on them. */
export function nodeWithoutDriver(node: Node, driver: string): Result<Node, string> {
  const known = readNodeIds(node);
  if (!known.ok) return known;
  return ok(known.value.delete(driver) ? writeNodeIds(node, known.value) : node);
}

export function newCsiNode(nodeName: string, nodeUid: string): CSINode {
  return {
    kind: "CSINode",
    apiVersion: "storage.k8s.io/v1",
    metadata: {
      name: nodeName,
      annotations: { [migratedAnnotation]: migratedPlugins.join(",") },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid: nodeUid }],
    },
    spec: { drivers: [] },
  };
}

/** Why the object is not this node's: the UID of the last node that owns it; undefined = it is. */
export function foreignOwner(
  { metadata }: CSINode,
  nodeName: string,
  nodeUid: string,
): string | undefined {
  const owners = (metadata?.ownerReferences ?? []).filter(({ kind }) => kind === "Node");
  const isOwn = owners.some(({ name, uid }) => name === nodeName && uid === nodeUid);
  return isOwn ? undefined : (owners.at(-1)?.uid ?? "");
}

export function csiNodeWithMigration(csiNode: CSINode): CSINode {
  const { annotations } = csiNode.metadata ?? {};
  const known = ownValue(annotations, migratedAnnotation) ?? "";
  if (deepEqual([...new Set(known.split(","))].toSorted(), migratedPlugins)) return csiNode;
  const all = { ...annotations, [migratedAnnotation]: migratedPlugins.join(",") };
  return { ...csiNode, metadata: { ...csiNode.metadata, annotations: all } };
}

export function csiNodeWithDriver(csiNode: CSINode, info: DriverNodeInfo): CSINode {
  const { driver: name, nodeId: nodeID, topology } = info;
  const drivers = csiNode.spec.drivers ?? [];
  const topologyKeys = Object.keys(topology).toSorted(compareText);
  const isKnown = drivers.some(
    (known) =>
      known.name === name &&
      known.nodeID === nodeID &&
      deepEqual([...new Set(known.topologyKeys)].toSorted(compareText), topologyKeys) &&
      isSameCount(known.allocatable?.count, info.maxVolumes),
  );
  const migrated = csiNodeWithMigration(csiNode);
  if (isKnown && migrated === csiNode) return csiNode;
  const { maxVolumes } = info;
  const count = Number(maxVolumes > maxCount ? maxCount : maxVolumes);
  const allocatable = maxVolumes > 0n ? { allocatable: { count } } : {};
  const added: CSINodeDriver = { name, nodeID, topologyKeys, ...allocatable };
  const others = drivers.filter((known) => known.name !== name);
  return { ...migrated, spec: { ...migrated.spec, drivers: [...others, added] } };
}

export function csiNodeWithoutDriver(csiNode: CSINode, driver: string): CSINode {
  const known = csiNode.spec.drivers ?? [];
  const drivers = known.filter(({ name }) => name !== driver);
  if (drivers.length === known.length) return csiNode;
  return { ...csiNode, spec: { ...csiNode.spec, drivers } };
}

/** Without a limit there is no count. */
function isSameCount(count: number | undefined, maxVolumes: bigint): boolean {
  return maxVolumes === 0n ? count === undefined : BigInt(count ?? 0) === maxVolumes;
}

function collision(key: string, reported: string, present: string): string {
  const [name, wanted, found] = [key, reported, present].map(quoteText);
  return `detected topology value collision: driver reported ${name}:${wanted} but existing label is ${name}:${found}`;
}

/** The ids that drivers have for the node, by driver. */
function readNodeIds(node: Node): Result<Map<string, string>, string> {
  const text = ownValue(node.metadata?.annotations, nodeIdAnnotation) ?? "";
  if (text === "") return ok(new Map());
  const parsed = parseJson(text);
  const ids = parsed.ok ? idsOf(parsed.value) : err(parsed.error.message);
  if (ids.ok) return ids;
  const place = `${quoteText(nodeIdAnnotation)} annotation value (${quoteText(text)})`;
  return err(`failed to parse node's ${place} err=${ids.error}`);
}

function idsOf(json: JsonNode): Result<Map<string, string>, string> {
  if (json.kind === "null") return ok(new Map());
  if (json.kind !== "object") return err(mismatch(json.kind, "map[string]string"));
  const ids = new Map<string, string>();
  for (const { key, value } of json.entries) {
    if (value.kind === "string") ids.set(key, value.value);
    else if (value.kind === "null") ids.set(key, "");
    else return err(mismatch(value.kind, "string"));
  }
  return ok(ids);
}

function mismatch(kind: string, wanted: string): string {
  return `json: cannot unmarshal ${kind} into Go value of type ${wanted}`;
}

function writeNodeIds(node: Node, ids: ReadonlyMap<string, string>): Node {
  const { [nodeIdAnnotation]: _, ...others } = node.metadata?.annotations ?? {};
  const pairs = [...ids]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([driver, id]) => `${jsonText(driver)}:${jsonText(id)}`);
  const annotations =
    ids.size === 0 ? others : { ...others, [nodeIdAnnotation]: `{${pairs.join(",")}}` };
  return { ...node, metadata: { ...node.metadata, annotations } };
}
