import * as cri from "../../src/model/generated/cri.ts";
import type { Json } from "./recording.ts";

type EnumNames = Readonly<Record<string, number>>;

// By field name: no two messages use one name for different enums.
const ENUMS: Readonly<Record<string, EnumNames>> = {
  network: cri.NamespaceMode,
  pid: cri.NamespaceMode,
  ipc: cri.NamespaceMode,
  mode: cri.NamespaceMode,
  profileType: cri.SecurityProfile_ProfileType,
  protocol: cri.Protocol,
  propagation: cri.MountPropagation,
  stopSignal: cri.Signal,
  supplementalGroupsPolicy: cri.SupplementalGroupsPolicy,
};
const MAPS: ReadonlySet<string> = new Set(["labels", "annotations", "sysctls", "unified"]);
const IRREGULAR: Readonly<Record<string, string>> = { cdiDevices: "CDI_devices" };

/** A CRI message in the recordings' encoding: proto field names, enums by name, defaults left out. */
export function criJson(message: unknown): Json {
  return field("", message) ?? {};
}

function field(name: string, value: unknown): Json | undefined {
  const names = ENUMS[name];
  if (names !== undefined && typeof value === "number") return enumName(names, value);
  switch (typeof value) {
    case "string":
      return value === "" ? undefined : value;
    case "boolean":
      return value || undefined;
    case "number":
      return value === 0 ? undefined : value;
    case "bigint":
      return value === 0n ? undefined : Number(value);
    case "object":
      return value === null ? undefined : composite(name, value);
    default:
      return undefined;
  }
}

function composite(name: string, value: object): Json | undefined {
  if (value instanceof Uint8Array) return field(name, Buffer.from(value).toString("utf8"));
  if (Array.isArray(value)) {
    if (value.length === 0) return undefined;
    return value.map((element) =>
      typeof element === "object" ? criJson(element) : scalar(element),
    );
  }
  const entries = Object.entries(value);
  if (MAPS.has(name)) {
    if (entries.length === 0) return undefined;
    return Object.fromEntries(entries.map(([key, text]) => [key, String(text)]));
  }
  return Object.fromEntries(
    entries.flatMap(([key, inner]) => {
      const json = field(key, inner);
      return json === undefined ? [] : [[protoName(key), json]];
    }),
  );
}

/** Elements of a list are sent even when they are defaults. */
function scalar(element: unknown): Json {
  return typeof element === "bigint" || typeof element === "number"
    ? Number(element)
    : String(element);
}

function enumName(names: EnumNames, value: number): string | undefined {
  if (value === 0) return undefined;
  return Object.keys(names).find((key) => names[key] === value) ?? String(value);
}

function protoName(key: string): string {
  return IRREGULAR[key] ?? key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
