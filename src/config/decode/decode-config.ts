import { formatNanoseconds, parseNanoseconds } from "../../lib/duration.ts";
import { quoteText } from "../../lib/go-text.ts";
import { type JsonNode, nodeText } from "../../lib/json-node.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatTime, parseTime } from "../../lib/time.ts";
import { timeProblem } from "../../model/manifest/time-problem.ts";
import { formatQuantity, parseQuantity } from "../../model/quantity.ts";
import type { KubeletConfigurationFile } from "../generated/kubelet-configuration.ts";
import { type ConfigType, configFields, zeroValue } from "./config-type.ts";

export interface DecodedConfig {
  readonly config: KubeletConfigurationFile;
  /** Fields that do not exist, or stand there twice; they do not make the file useless. */
  readonly strictErrors: readonly string[];
}

/** Files know names by their exact spelling; what was merged from several is read with less care. */
export type NameMatching = "exact" | "anyCase";

/** Reads a document as a configuration, before defaults. The error is the first that ends reading. */
export function decodeConfig(
  root: JsonNode,
  matching: NameMatching = "exact",
): Result<DecodedConfig, string> {
  const decoder = new ConfigDecoder(matching);
  try {
    const place = { names: [], path: "" };
    const value = decoder.decodeStruct({ name: "", struct: "KubeletConfiguration" }, root, {
      place,
      existing: undefined,
    });
    if (decoder.firstMismatch !== undefined) return err(decoder.firstMismatch);
    const { apiVersion: _version, kind: _kind, ...fields } = value as Record<string, unknown>;
    // Filled field by field by the table that the type is generated from.
    const config = fields as unknown as KubeletConfigurationFile;
    return ok({ config, strictErrors: [...decoder.strictErrors] });
  } catch (error) {
    if (error instanceof FatalDecodeError) return err(error.message);
    throw error;
  }
}

/** Where the decoder is: names as messages show them, and the path as people write it. */
interface Place {
  readonly struct?: string;
  readonly names: readonly string[];
  readonly path: string;
}

interface Target {
  readonly place: Place;
  /** What an earlier field of the same name left. */
  readonly existing: unknown;
}

/** A type whose values need no parsing of their own. */
type PlainType = Exclude<ConfigType, { kind: "duration" | "timeOrDuration" | "quantity" | "time" }>;

/** A value that refuses to be parsed ends decoding at once; a value of the wrong type only in the end. */
class FatalDecodeError extends Error {}

const maxStrictErrors = 100;

/** Owns what was found while one document is walked. */
class ConfigDecoder {
  firstMismatch: string | undefined;
  readonly strictErrors = new Set<string>();
  readonly #matching: NameMatching;

  constructor(matching: NameMatching) {
    this.#matching = matching;
  }

  decodeStruct(
    type: { readonly name: string; readonly struct: string },
    node: JsonNode,
    { place, existing }: Target,
  ): unknown {
    if (node.kind !== "object") return this.#mismatch(node.kind, type.name, { place, existing });
    const fields = configFields(type.struct);
    const result: Record<string, unknown> = { ...(existing as Record<string, unknown>) };
    const seen = new Set<string>();
    for (const { key, value } of node.entries) {
      const name = this.#fieldName(type.struct, key);
      const field = name === undefined ? undefined : fields.get(name);
      if (name === undefined || field === undefined) {
        this.#strict("unknown", joinPath(place.path, key));
        continue;
      }
      if (seen.has(name)) this.#strict("duplicate", joinPath(place.path, name));
      seen.add(name);
      const embedded = field.embeddedIn === undefined ? [] : [field.embeddedIn];
      const inner = {
        struct: type.struct,
        names: [...place.names, ...embedded, name],
        path: joinPath(place.path, name),
      };
      const unsets = field.isPointer && value.kind === "null";
      result[name] = unsets
        ? undefined
        : this.#decode(field.type, value, { place: inner, existing: result[name] });
    }
    for (const [name, field] of fields) {
      if (!field.isPointer && result[name] === undefined) result[name] = zeroValue(field.type);
    }
    return result;
  }

  #fieldName(struct: string, key: string): string | undefined {
    const fields = configFields(struct);
    if (fields.has(key)) return key;
    if (this.#matching === "exact") return undefined;
    const folded = key.toLowerCase();
    return [...fields.keys()].find((name) => name.toLowerCase() === folded);
  }

  #decode(type: ConfigType, node: JsonNode, target: Target): unknown {
    switch (type.kind) {
      case "duration":
        return decodeDuration(node, target.place);
      case "timeOrDuration":
        return decodeTimeOrDuration(node);
      case "quantity":
        return decodeQuantity(node);
      case "time":
        return decodeTime(node, target.place);
      default:
        return node.kind === "null"
          ? this.#keep(type, target)
          : this.#decodePlain(type, node, target);
    }
  }

  #keep(type: ConfigType, { existing }: Target): unknown {
    return type.kind === "array" || type.kind === "map" ? undefined : existing;
  }

  #decodePlain(type: PlainType, node: JsonNode, target: Target): unknown {
    switch (type.kind) {
      case "string":
        if (node.kind === "string") return node.value;
        break;
      case "bool":
        if (node.kind === "bool") return node.value;
        break;
      case "int":
        if (node.kind === "number") return this.#decodeInteger(type, node.text, target);
        break;
      case "float":
        if (node.kind === "number") return this.#decodeFloat(type, node.text, target);
        break;
      case "array":
        if (node.kind !== "array") break;
        return node.items.map((item, index) => {
          const place = { ...target.place, path: `${target.place.path}[${index}]` };
          return (
            this.#decode(type.item, item, { place, existing: undefined }) ?? zeroValue(type.item)
          );
        });
      case "map":
        if (node.kind === "object") return this.#decodeMap(type.item, node, target);
        break;
      case "struct":
        return this.decodeStruct(type, node, target);
    }
    return this.#mismatch(node.kind, type.name, target);
  }

  #decodeMap(item: ConfigType, node: JsonNode & { kind: "object" }, target: Target): unknown {
    const result = new Map(Object.entries((target.existing as Record<string, unknown>) ?? {}));
    const seen = new Set<string>();
    for (const { key, value } of node.entries) {
      const path = joinPath(target.place.path, key);
      if (seen.has(key)) this.#strict("duplicate", path);
      seen.add(key);
      const place = { ...target.place, path };
      const decoded = this.#decode(item, value, { place, existing: undefined });
      result.set(key, decoded ?? zeroValue(item));
    }
    return Object.fromEntries(result);
  }

  #decodeInteger(type: ConfigType & { kind: "int" }, text: string, target: Target): unknown {
    if (/^-?[0-9]+$/.test(text)) {
      const value = BigInt(text);
      const wrapped = type.isSigned
        ? BigInt.asIntN(type.bits, value)
        : BigInt.asUintN(type.bits, value);
      // A minus is not part of an unsigned number, not even of zero.
      if (wrapped === value && (type.isSigned || !text.startsWith("-"))) return Number(value);
    }
    return this.#mismatch(`number ${text}`, type.name, target);
  }

  #decodeFloat(type: ConfigType, text: string, target: Target): unknown {
    const value = Number(text);
    if (Number.isFinite(value)) return value;
    return this.#mismatch(`number ${text}`, type.name, target);
  }

  #strict(kind: "unknown" | "duplicate", path: string): void {
    if (this.strictErrors.size < maxStrictErrors) {
      this.strictErrors.add(`${kind} field ${quoteText(path)}`);
    }
  }

  #mismatch(kind: string, type: string, { place, existing }: Target): unknown {
    this.firstMismatch ??= mismatchText(kind, type, place);
    return existing;
  }
}

function decodeDuration(node: JsonNode, place: Place): string {
  if (node.kind !== "string" && node.kind !== "null") {
    throw new FatalDecodeError(mismatchText(node.kind, "string", place));
  }
  return canonicalDuration(node.kind === "string" ? node.value : "");
}

/** A text, or nanoseconds as a number, which stay a number. */
function decodeTimeOrDuration(node: JsonNode): string | number {
  if (node.kind === "string") return canonicalDuration(node.value);
  if (node.kind === "null") return 0;
  if (node.kind === "number" && /^-?[0-9]+$/.test(node.text)) {
    const value = BigInt(node.text);
    if (BigInt.asIntN(64, value) === value) return Number(value);
  }
  const kind = node.kind === "number" ? `number ${node.text}` : node.kind;
  throw new FatalDecodeError(
    `invalid duration ${quoteText(nodeText(node))}: json: cannot unmarshal ${kind} into Go value of type time.Duration`,
  );
}

function canonicalDuration(text: string): string {
  const parsed = parseNanoseconds(text);
  if (!parsed.ok) throw new FatalDecodeError(parsed.error);
  return formatNanoseconds(parsed.value);
}

function decodeQuantity(node: JsonNode): string {
  if (node.kind === "null") return "0";
  const text = node.kind === "string" ? node.value : nodeText(node);
  const parsed = parseQuantity(text.trim());
  if (!parsed.ok) throw new FatalDecodeError(parsed.error);
  return formatQuantity(parsed.value);
}

function decodeTime(node: JsonNode, place: Place): string | undefined {
  if (node.kind === "null") return undefined;
  if (node.kind !== "string") {
    throw new FatalDecodeError(mismatchText(node.kind, "string", place));
  }
  const problem = timeProblem(node.value);
  const ms = problem === undefined ? parseTime(node.value.replace(",", ".")) : undefined;
  if (ms === undefined) throw new FatalDecodeError(problem ?? `not a time: ${node.value}`);
  return formatTime(ms);
}

function mismatchText(kind: string, type: string, { struct, names }: Place): string {
  const target = struct === undefined ? "value" : `struct field ${struct}.${names.join(".")}`;
  return `json: cannot unmarshal ${kind} into Go ${target} of type ${type}`;
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
