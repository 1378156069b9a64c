import { wireEmbedded, wireNamedTypes, wireStructs } from "../generated/wire-types.ts";

/** The shape of a JSON value, as the table of wire types describes it. */
export type WireType =
  | { readonly kind: "string" | "bool" | "int32" | "int64"; readonly name: string }
  | { readonly kind: "quantity" | "time" | "intOrString" | "bytes" | "raw"; readonly name: string }
  | { readonly kind: "array" | "map"; readonly name: string; readonly item: WireType }
  | { readonly kind: "struct"; readonly name: string; readonly struct: string };

export interface WireField {
  readonly type: WireType;
  /** Absent and zero are different. */
  readonly isPointer: boolean;
  /** A zero value is left out. */
  readonly isOmittedWhenEmpty: boolean;
  /** The inner struct that the field comes from, which messages name. */
  readonly embeddedIn?: string | undefined;
}

const special: ReadonlyMap<string, WireType> = new Map([
  ["string", { kind: "string", name: "string" }],
  ["bool", { kind: "bool", name: "bool" }],
  ["int32", { kind: "int32", name: "int32" }],
  ["int64", { kind: "int64", name: "int64" }],
  ["[]byte", { kind: "bytes", name: "[]uint8" }],
  ["types.UID", { kind: "string", name: "types.UID" }],
  ["resource.Quantity", { kind: "quantity", name: "resource.Quantity" }],
  ["intstr.IntOrString", { kind: "intOrString", name: "intstr.IntOrString" }],
  ["Time", { kind: "time", name: "v1.Time" }],
  ["metav1.Time", { kind: "time", name: "v1.Time" }],
  ["FieldsV1", { kind: "raw", name: "v1.FieldsV1" }],
]);

const structFields = new Map<string, ReadonlyMap<string, WireField>>();

/** The fields of a struct by their JSON name. */
export function wireFields(struct: string): ReadonlyMap<string, WireField> {
  const known = structFields.get(struct);
  if (known !== undefined) return known;
  const fields = new Map(
    Object.entries(wireStructs[struct] ?? {}).map(([name, text]) => [
      name,
      { ...parseField(text), embeddedIn: wireEmbedded[struct]?.[name] },
    ]),
  );
  structFields.set(struct, fields);
  return fields;
}

function parseField(text: string): WireField {
  const isOmittedWhenEmpty = text.endsWith("?");
  const isPointer = text.startsWith("*");
  const type = parseType(text.slice(isPointer ? 1 : 0, isOmittedWhenEmpty ? -1 : undefined));
  return { type, isPointer, isOmittedWhenEmpty };
}

function parseType(text: string): WireType {
  const known = special.get(text);
  if (known !== undefined) return known;
  if (text.startsWith("[]")) {
    const item = parseType(text.slice(2));
    return { kind: "array", name: `[]${item.name}`, item };
  }
  const map = /^map\[(\w+)\](.+)$/.exec(text);
  if (map !== null) {
    const item = parseType(map[2] ?? "");
    return { kind: "map", name: `map[${parseType(map[1] ?? "").name}]${item.name}`, item };
  }
  const struct = text.replace("metav1.", "");
  const underlying = wireNamedTypes[struct];
  if (underlying !== undefined) return { ...parseType(underlying), name: `v1.${struct}` };
  return { kind: "struct", name: `v1.${struct}`, struct };
}
