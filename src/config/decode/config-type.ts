import {
  configEmbedded,
  configNamedTypes,
  configPackageV1,
  configStructs,
} from "../generated/kubelet-configuration.ts";

/** The shape of one value of the configuration; `name` is what messages call it. */
export type ConfigType =
  | { readonly kind: "string" | "bool" | "float"; readonly name: string }
  | { readonly kind: ParsedKind; readonly name: string }
  | {
      readonly kind: "int";
      readonly name: string;
      readonly bits: 32 | 64;
      readonly isSigned: boolean;
    }
  | { readonly kind: "array" | "map"; readonly name: string; readonly item: ConfigType }
  | { readonly kind: "struct"; readonly name: string; readonly struct: string };

/** Texts with a form of their own. */
type ParsedKind = "duration" | "timeOrDuration" | "quantity" | "time";

export interface ConfigField {
  readonly type: ConfigType;
  /** Unset and zero differ, at least in a file. */
  readonly isPointer: boolean;
  /** A zero value is not written. */
  readonly isOmittedWhenZero: boolean;
  /** The inner struct that the field comes from, which messages name. */
  readonly embeddedIn?: string | undefined;
}

const simpleTypes: Readonly<Record<string, ConfigType>> = {
  string: { kind: "string", name: "string" },
  bool: { kind: "bool", name: "bool" },
  int32: { kind: "int", name: "int32", bits: 32, isSigned: true },
  int64: { kind: "int", name: "int64", bits: 64, isSigned: true },
  uint32: { kind: "int", name: "uint32", bits: 32, isSigned: false },
  float64: { kind: "float", name: "float64" },
  Duration: { kind: "duration", name: "v1.Duration" },
  TimeOrMetaDuration: { kind: "timeOrDuration", name: "v1.TimeOrMetaDuration" },
  Quantity: { kind: "quantity", name: "resource.Quantity" },
  QuantityValue: { kind: "quantity", name: "resource.QuantityValue" },
  Time: { kind: "time", name: "v1.Time" },
};

const knownFields = new Map<string, ReadonlyMap<string, ConfigField>>();

/** The fields of a struct by their names in files, in the order in which they are written. */
export function configFields(struct: string): ReadonlyMap<string, ConfigField> {
  const known = knownFields.get(struct);
  if (known !== undefined) return known;
  const embeddedIn = configEmbedded[struct];
  const fields = new Map(
    Object.entries(configStructs[struct] ?? {}).map(([name, text]) => [
      name,
      { ...parseField(text), embeddedIn },
    ]),
  );
  knownFields.set(struct, fields);
  return fields;
}

function parseField(text: string): ConfigField {
  const isOmittedWhenZero = text.endsWith("?");
  const isPointer = /^[*&]/.test(text);
  const type = parseType(text.slice(isPointer ? 1 : 0, isOmittedWhenZero ? -1 : undefined));
  return { type, isPointer, isOmittedWhenZero };
}

function parseType(text: string): ConfigType {
  const simple = Object.hasOwn(simpleTypes, text) ? simpleTypes[text] : undefined;
  if (simple !== undefined) return simple;
  if (text.startsWith("[]")) {
    const item = parseType(text.slice(2));
    return { kind: "array", name: `[]${item.name}`, item };
  }
  const map = /^map\[string\](.+)$/.exec(text);
  if (map?.[1] !== undefined) {
    const item = parseType(map[1]);
    return { kind: "map", name: `map[string]${item.name}`, item };
  }
  const name = `${configPackageV1.includes(text) ? "v1" : "v1beta1"}.${text}`;
  const underlying = configNamedTypes[text];
  if (underlying !== undefined) return { ...parseType(underlying), name };
  return { kind: "struct", name, struct: text };
}

/** What a value is when nothing was given: nothing at all for lists and maps. */
export function zeroValue(type: ConfigType): unknown {
  switch (type.kind) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int":
    case "float":
      return 0;
    case "duration":
    case "timeOrDuration":
      return "0s";
    case "quantity":
      return "0";
    case "struct":
      return zeroStruct(type.struct);
    case "array":
    case "map":
    case "time":
      return undefined;
  }
}

function zeroStruct(struct: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...configFields(struct)].map(([name, { type, isPointer }]) => [
      name,
      isPointer ? undefined : zeroValue(type),
    ]),
  );
}
