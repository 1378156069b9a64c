import type { JsonNode } from "../lib/json-node.ts";
import { type ConfigType, configFields } from "./decode/config-type.ts";
import type { KubeletConfiguration } from "./generated/kubelet-configuration.ts";

const nowhere = { line: 1, column: 1 };

/** The configuration as a document: what is zero and need not be written is left out. */
export function encodeConfig(config: KubeletConfiguration): JsonNode & { kind: "object" } {
  return encodeStruct("KubeletConfiguration", { ...config });
}

function encodeStruct(
  struct: string,
  value: Readonly<Record<string, unknown>>,
): JsonNode & { kind: "object" } {
  const entries = [...configFields(struct)].flatMap(([key, field]) => {
    const node = encode(field.type, value[key]);
    if (node === undefined) return [];
    const isLeftOut = field.isOmittedWhenZero && !field.isPointer && isZero(field.type, node);
    return isLeftOut ? [] : [{ key, keyAt: nowhere, value: node }];
  });
  return { kind: "object", entries, at: nowhere };
}

function encode(type: ConfigType, value: unknown): JsonNode | undefined {
  const at = nowhere;
  switch (typeof value) {
    case "string":
      return { kind: "string", value, at };
    case "number":
      return { kind: "number", text: String(value), at };
    case "boolean":
      return { kind: "bool", value, at };
    case "object":
      break;
    default:
      return undefined;
  }
  if (Array.isArray(value) && type.kind === "array") {
    const items = value.map((item) => encode(type.item, item) ?? { kind: "null" as const, at });
    return { kind: "array", items, at };
  }
  const fields = value as Readonly<Record<string, unknown>>;
  if (type.kind === "struct") return encodeStruct(type.struct, fields);
  if (type.kind !== "map") return undefined;
  const entries = Object.entries(fields)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => ({
      key,
      keyAt: at,
      value: encode(type.item, item) ?? { kind: "null" as const, at },
    }));
  return { kind: "object", entries, at };
}

/** Structs and durations are always written; so are quantities, whose zero is a text. */
function isZero(type: ConfigType, node: JsonNode): boolean {
  switch (node.kind) {
    case "null":
      return true;
    case "bool":
      return !node.value;
    case "number":
      return node.text === "0";
    case "string":
      return node.value === "";
    case "array":
      return node.items.length === 0;
    case "object":
      return type.kind === "map" && node.entries.length === 0;
  }
}
