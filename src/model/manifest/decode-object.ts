import { type JsonNode, nodeText, type Position } from "../../lib/json-node.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { formatTime, parseTime } from "../../lib/time.ts";
import { formatQuantity, parseQuantity } from "../quantity.ts";
import { timeProblem } from "./time-problem.ts";
import { type WireField, type WireType, wireFields } from "./wire-type.ts";

/** Why a document cannot be read as the object that it says to be. */
interface DecodeProblem {
  readonly message: string;
  readonly field: string;
  readonly at: Position;
}

export interface UnknownField {
  readonly struct: string;
  readonly name: string;
  readonly field: string;
  readonly at: Position;
}

export interface Decoded {
  readonly value: unknown;
  /** The first problem; the value is not to be used when there is one. */
  readonly problem?: DecodeProblem | undefined;
  readonly unknownFields: readonly UnknownField[];
}

/** Reads a document as a struct of the API: unknown fields are dropped and reported, zero values are normalised. */
export function decodeObject(struct: string, root: JsonNode): Decoded {
  const decoder = new Decoder();
  let fatal: DecodeProblem | undefined;
  let value: unknown;
  try {
    value = decoder.decodeStruct(struct, root, { names: [], field: "" });
  } catch (error) {
    if (!(error instanceof FatalDecodeError)) throw error;
    fatal = error.problem;
  }
  return {
    value,
    problem: fatal ?? decoder.firstProblem,
    unknownFields: decoder.unknownFields,
  };
}

/** Where the decoder is: the names that Go's messages show, and the full path for people. */
interface Place {
  readonly struct?: string;
  readonly names: readonly string[];
  readonly field: string;
}

/** A value that refuses to be parsed ends decoding at once, before any mismatch of types found earlier. */
class FatalDecodeError extends Error {
  readonly problem: DecodeProblem;

  constructor(problem: DecodeProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

const kindNames = {
  null: "null",
  bool: "bool",
  number: "number",
  string: "string",
  array: "array",
  object: "object",
} as const;

/** Owns what was found while one document is walked. */
class Decoder {
  firstProblem: DecodeProblem | undefined;
  readonly unknownFields: UnknownField[] = [];

  decodeStruct(struct: string, node: JsonNode, place: Place): unknown {
    if (node.kind !== "object") {
      return this.#mismatch(node, kindNames[node.kind], { name: `v1.${struct}`, place });
    }
    const fields = wireFields(struct);
    const result: Record<string, unknown> = {};
    for (const { key, keyAt, value } of node.entries) {
      const field = fields.get(key);
      const embeddedIn = field?.embeddedIn;
      const inner = {
        struct,
        names: [...place.names, ...(embeddedIn === undefined ? [] : [embeddedIn]), key],
        field: place.field === "" ? key : `${place.field}.${key}`,
      };
      if (field === undefined) {
        this.unknownFields.push({ struct, name: key, field: inner.field, at: keyAt });
      } else {
        result[key] = this.#decode(field.type, value, inner);
      }
    }
    for (const [name, field] of fields) normalise(result, name, field);
    return result;
  }

  #decode(type: WireType, node: JsonNode, place: Place): unknown {
    if (node.kind === "null") return undefined;
    switch (type.kind) {
      case "string":
        if (node.kind === "string") return node.value;
        break;
      case "bool":
        if (node.kind === "bool") return node.value;
        break;
      case "int32":
      case "int64":
        if (node.kind === "number") return this.#decodeInteger(type, node, place);
        break;
      case "array":
        if (node.kind !== "array") break;
        return node.items.map((item, index) =>
          this.#decodeItem(type.item, item, { ...place, field: `${place.field}[${index}]` }),
        );
      case "map":
        if (node.kind === "object") return this.#decodeMap(type.item, node, place);
        break;
      case "struct":
        return this.decodeStruct(type.struct, node, place);
      case "bytes":
        if (node.kind === "string") return this.#decodeBytes(node, place);
        break;
      case "quantity":
        return this.#decodeQuantity(node, place);
      case "time":
        return this.#decodeTime(node, place);
      case "intOrString":
        return this.#decodeIntOrString(node, place);
      case "raw":
        return parseJsonText(nodeText(node));
    }
    return this.#mismatch(node, kindNames[node.kind], { name: type.name, place });
  }

  #decodeItem(type: WireType, node: JsonNode, place: Place): unknown {
    return this.#decode(type, node, place) ?? zeroOf(type);
  }

  #decodeMap(item: WireType, node: JsonNode & { kind: "object" }, place: Place): unknown {
    return Object.fromEntries(
      node.entries.map(({ key, value }) => [
        key,
        this.#decodeItem(item, value, { ...place, field: `${place.field}.${key}` }),
      ]),
    );
  }

  #decodeInteger(
    type: WireType,
    node: JsonNode & { kind: "number" },
    place: Place,
  ): number | undefined {
    const bits = type.kind === "int32" ? 32 : 64;
    if (/^-?[0-9]+$/.test(node.text)) {
      const value = BigInt(node.text);
      if (BigInt.asIntN(bits, value) === value) return Number(value);
    }
    this.#mismatch(node, `number ${node.text}`, { name: type.name, place });
    return undefined;
  }

  #decodeBytes(node: JsonNode & { kind: "string" }, place: Place): string {
    const text = node.value.replace(/[\r\n]/g, "");
    const wrong = firstWrongBase64(text);
    if (wrong === undefined) return text;
    throw fatal(`illegal base64 data at input byte ${wrong}`, node, place);
  }

  #decodeQuantity(node: JsonNode, place: Place): string {
    const text = node.kind === "string" ? node.value : nodeText(node);
    const parsed = parseQuantity(text.trim());
    if (!parsed.ok) throw fatal(parsed.error, node, place);
    return formatQuantity(parsed.value);
  }

  #decodeTime(node: JsonNode, place: Place): string {
    if (node.kind !== "string") {
      throw fatal(mismatchText(kindNames[node.kind], "string", place), node, place);
    }
    const problem = timeProblem(node.value);
    const ms = problem === undefined ? parseTime(node.value.replace(",", ".")) : undefined;
    if (ms === undefined) throw fatal(problem ?? `not a time: ${node.value}`, node, place);
    return formatTime(ms);
  }

  #decodeIntOrString(node: JsonNode, place: Place): number | string {
    if (node.kind === "string") return node.value;
    if (node.kind === "number" && /^-?[0-9]+$/.test(node.text)) {
      const value = BigInt(node.text);
      if (BigInt.asIntN(32, value) === value) return Number(value);
    }
    const kind = node.kind === "number" ? `number ${node.text}` : kindNames[node.kind];
    throw fatal(mismatchText(kind, "int32", place), node, place);
  }

  /** Notes the first mismatch and continues, since a later value can still end decoding with its own message. */
  #mismatch(node: JsonNode, kind: string, expected: { name: string; place: Place }): undefined {
    this.firstProblem ??= {
      message: mismatchText(kind, expected.name, expected.place),
      field: expected.place.field,
      at: node.at,
    };
    return undefined;
  }
}

function fatal(message: string, node: JsonNode, place: Place): FatalDecodeError {
  return new FatalDecodeError({ message, field: place.field, at: node.at });
}

function mismatchText(kind: string, type: string, { struct, names }: Place): string {
  const target = struct === undefined ? "value" : `struct field ${struct}.${names.join(".")}`;
  return `json: cannot unmarshal ${kind} into Go ${target} of type ${type}`;
}

/** Zero and absent are one for a plain field: it is left out, or filled in where the API requires it. */
function normalise(result: Record<string, unknown>, name: string, field: WireField): void {
  if (field.isPointer) return;
  const value = result[name];
  // A quantity is never empty: the zero one is written out.
  if (field.isOmittedWhenEmpty && field.type.kind !== "quantity") {
    if (value === "" || value === 0 || value === false) delete result[name];
  } else if (value === undefined) {
    result[name] = zeroOf(field.type);
  }
}

/** The value of a required field that is absent, and of an item that is null. */
function zeroOf(type: WireType): unknown {
  switch (type.kind) {
    case "string":
    case "bytes":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "intOrString":
      return 0;
    case "quantity":
      return "0";
    case "array":
      return [];
    case "struct":
      return zeroStruct(type.struct);
    case "map":
    case "time":
    case "raw":
      return undefined;
  }
}

/** A struct with only the fields that the API requires, all of them zero. */
export function zeroStruct(struct: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of wireFields(struct)) normalise(result, name, field);
  return result;
}

function firstWrongBase64(text: string): number | undefined {
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    return undefined;
  }
  const wrong = text.search(/[^A-Za-z0-9+/]/);
  return wrong === -1 ? text.length - (text.length % 4) : wrong;
}
