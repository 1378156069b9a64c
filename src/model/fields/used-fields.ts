import type { PodSpec } from "../generated/kubernetes.ts";
import { type WireType, wireFields } from "../manifest/wire-type.ts";

/** A field that a pod's spec uses. */
export interface UsedField {
  /** Its type and its own name, such as Volume.nfs. */
  readonly name: string;
  /** Where it stands, such as spec.volumes[0].nfs. */
  readonly path: string;
}

/** Of these types one field must be set, and being set is enough to ask for something. */
const unions: ReadonlySet<string> = new Set(["Volume", "VolumeProjection", "LifecycleHandler"]);

/** Every field that a spec uses, outer before inner; an empty list or object asks for nothing. */
export function usedFields(spec: PodSpec): readonly UsedField[] {
  return structFields("PodSpec", spec, "spec");
}

function structFields(struct: string, value: unknown, path: string): readonly UsedField[] {
  if (typeof value !== "object" || value === null) return [];
  const fields = wireFields(struct);
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const field = fields.get(key);
    if (field === undefined || !isUsed(inner, unions.has(struct))) return [];
    const at = `${path}.${key}`;
    return [{ name: `${struct}.${key}`, path: at }, ...valueFields(field.type, inner, at)];
  });
}

function valueFields(type: WireType, value: unknown, path: string): readonly UsedField[] {
  if (type.kind === "struct") return structFields(type.struct, value, path);
  if (type.kind !== "array" || !Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) => valueFields(type.item, item, `${path}[${index}]`));
}

function isUsed(value: unknown, isChoice: boolean): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "object") return true;
  return Object.keys(value).length > 0 || (isChoice && !Array.isArray(value));
}
