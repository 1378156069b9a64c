import { childNode, type JsonEntry, type JsonNode, nodeText } from "../../lib/json-node.ts";
import { dumpNamedTypes, dumpStructs } from "../generated/pod-dump-types.ts";
import { milliRoundedQuantity, type Quantity, zeroQuantity } from "../quantity.ts";
import { dumpQuantity, heldQuantity } from "./quantity-dump.ts";

/** A value, and what the manifest has in its place: quantities, and nothing as opposed to empty, depend on that. */
interface Dumped {
  readonly value: unknown;
  readonly node: JsonNode | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

interface DumpField {
  readonly name: string;
  readonly type: string;
  /** Undefined for an embedded struct. */
  readonly jsonName: string | undefined;
}

/** A quantity of a list of resources. */
const roundedType = "rounded quantity";

// Kubernetes keeps these of the pod's spec in its security context.
const movedFields = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

const fieldsOf = new Map(
  Object.entries(dumpStructs).map(([struct, fields]) => [struct, fields.map(parseField)]),
);

/**
 * The text that a kubelet makes the UID of a static pod of: names, types and values of everything it holds of the pod,
 * after defaults. With another UID, a node that changes from one to the other would restart its static pods.
 */
export function dumpPod(pod: object, manifest: JsonNode): string {
  return `(*core.Pod)${dump("core.Pod", { value: pod, node: manifest })}`;
}

function parseField(text: string): DumpField {
  const [name = "", type = "", jsonName] = text.split(" ");
  return { name, type, jsonName };
}

function typed(type: string, dumped: Dumped): string {
  return `(${type})${dump(type, dumped)}`;
}

function dump(type: string, dumped: Dumped): string {
  if (type.startsWith("*")) {
    return isNothing(dumped) ? "<nil>" : dump(type.slice(1), dumped);
  }
  if (type.startsWith("[]")) return dumpList(type.slice(2), dumped);
  if (type.startsWith("map[")) return dumpMap(type.slice(type.indexOf("]") + 1), dumped);
  switch (type) {
    case "core.ResourceList":
      return dumpMap(roundedType, dumped);
    case "resource.Quantity":
      return dumpQuantity(givenQuantity(dumped.node) ?? zeroQuantity);
    case roundedType:
      return dumpQuantity(
        milliRoundedQuantity(givenQuantity(dumped.node) ?? heldQuantity(plain(dumped.value, "0"))),
      );
    case "intstr.IntOrString":
      return dumpIntOrString(dumped.value);
    case "v1.Time":
      return dumpTime(dumped.value);
    default:
      return dumpNamed(type, dumped);
  }
}

function dumpNamed(type: string, { value, node }: Dumped): string {
  const fields = fieldsOf.get(type);
  if (fields !== undefined) {
    const object = (value ?? {}) as Fields;
    const whole = type === "core.PodSpec" ? withMovedFields(object) : object;
    const source = type === "core.ResourceRequirements" ? withRequests(object, node) : node;
    const texts = fields.map((field) => `${field.name}:${dumpField(field, whole, source)}`);
    return `{${texts.join(" ")}}`;
  }
  switch (dumpNamedTypes[type] ?? type) {
    case "bool":
      return plain(value, "false");
    case "string":
      return plain(value, "");
    default:
      return plain(value, "0");
  }
}

function plain(value: unknown, zero: string): string {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return String(value);
    default:
      return zero;
  }
}

function dumpField(
  { type, jsonName }: DumpField,
  object: Fields,
  node: JsonNode | undefined,
): string {
  if (jsonName === undefined) return typed(type, { value: object, node });
  return typed(type, { value: object[jsonName], node: childNode(node, jsonName) });
}

function withMovedFields(spec: Fields): Fields {
  const moved = movedFields.map((name) => [name, spec[name]] as const);
  const context = spec["securityContext"] as Fields | undefined;
  return { ...spec, securityContext: { ...context, ...Object.fromEntries(moved) } };
}

/** A limit without a request is also the request. */
function withRequests(resources: Fields, node: JsonNode | undefined): JsonNode | undefined {
  const requests = resources["requests"] as Fields | undefined;
  if (node?.kind !== "object" || requests === undefined) return node;
  const values = resources["limits"] as Fields | undefined;
  const limits = entriesOf(childNode(node, "limits")).filter(
    ({ key }) => values?.[key] === requests[key],
  );
  const entries = [...limits, ...entriesOf(childNode(node, "requests"))];
  const value: JsonNode = { kind: "object", entries, at: node.at };
  return { ...node, entries: [...node.entries, { key: "requests", keyAt: node.at, value }] };
}

function entriesOf(node: JsonNode | undefined): readonly JsonEntry[] {
  return node?.kind === "object" ? node.entries : [];
}

function dumpList(item: string, dumped: Dumped): string {
  const values = (dumped.value ?? []) as readonly unknown[];
  if (values.length === 0 && isNothing(dumped)) return "<nil>";
  const texts = values.map((value, index) =>
    dump(item, { value, node: childNode(dumped.node, String(index)) }),
  );
  return `[${texts.join(" ")}]`;
}

function dumpMap(item: string, dumped: Dumped): string {
  const entries = Object.entries((dumped.value ?? {}) as Fields);
  if (entries.length === 0 && isNothing(dumped)) return "<nil>";
  const nodes = new Map(entriesOf(dumped.node).map(({ key, value }) => [key, value]));
  const texts = entries
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([key, value]) => `${key}:${dump(item, { value, node: nodes.get(key) })}`);
  return `map[${texts.join(" ")}]`;
}

/** Nothing is there: neither a value that was filled in, nor one in the manifest that is not null. */
function isNothing({ value, node }: Dumped): boolean {
  if (node !== undefined && node.kind !== "null") return false;
  if (value === undefined) return true;
  return Array.isArray(value) && value.length === 0;
}

function givenQuantity(node: JsonNode | undefined): Quantity | undefined {
  if (node === undefined || node.kind === "null") return undefined;
  return heldQuantity((node.kind === "string" ? node.value : nodeText(node)).trim());
}

function dumpIntOrString(value: unknown): string {
  const [kind, number, text] =
    typeof value === "string" ? [1, "0", value] : [0, plain(value, "0"), ""];
  return `{Type:(intstr.Type)${kind} IntVal:(int32)${number} StrVal:(string)${text}}`;
}

// Of a time that is set, a kubelet's dump shows the machine's time zone.
function dumpTime(value: unknown): string {
  return `{Time:(time.Time){wall:(uint64)0 ext:(int64)${plain(value, "0")} loc:(*time.Location)<nil>}}`;
}

/** Go orders keys by their bytes. */
function compareBytes(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((character, index) => character !== right[index]);
  if (at === -1) return left.length - right.length;
  return (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}
