type JsonObject = Readonly<Record<string, unknown>>;

/** The merge key of a list's elements, by the list's name. Other lists are replaced as a whole. */
export type MergeKeys = Readonly<Record<string, string>>;

/** The strategic merge patch that turns one object into another; undefined when there is nothing to change. */
export function strategicMergePatch(
  before: JsonObject,
  after: JsonObject,
  mergeKeys: MergeKeys,
): JsonObject | undefined {
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    Object.assign(patch, fieldPatch(name, before[name], after[name], mergeKeys));
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function fieldPatch(
  name: string,
  before: unknown,
  after: unknown,
  mergeKeys: MergeKeys,
): JsonObject | undefined {
  if (after === undefined || after === null) {
    return before === undefined || before === null ? undefined : { [name]: null };
  }
  if (before === undefined || before === null) return { [name]: after };
  if (isObject(before) && isObject(after)) {
    const patch = strategicMergePatch(before, after, mergeKeys);
    return patch && { [name]: patch };
  }
  if (sameJson(before, after)) return undefined;
  const key = mergeKeys[name];
  if (key !== undefined && isObjectList(before) && isObjectList(after)) {
    return listPatch(name, key, { before, after, mergeKeys });
  }
  return { [name]: after };
}

interface Lists {
  readonly before: readonly JsonObject[];
  readonly after: readonly JsonObject[];
  readonly mergeKeys: MergeKeys;
}

function listPatch(
  name: string,
  key: string,
  { before, after, mergeKeys }: Lists,
): JsonObject | undefined {
  const old = new Map(before.map((element) => [element[key], element]));
  const kept = new Set(after.map((element) => element[key]));
  const changed = after.flatMap((element) => {
    const earlier = old.get(element[key]);
    if (earlier === undefined) return [element];
    const patch = strategicMergePatch(earlier, element, mergeKeys);
    return patch === undefined ? [] : [{ ...patch, [key]: element[key] }];
  });
  const gone = [...old.keys()]
    .filter((value) => !kept.has(value))
    .map((value) => ({ $patch: "delete", [key]: value }));
  const patches = [...changed, ...gone];
  if (patches.length === 0) return undefined;
  const order = after.map((element) => ({ [key]: element[key] }));
  return { [`$setElementOrder/${name}`]: order, [name]: patches };
}

function sameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, index) => sameJson(each, b[index]));
  }
  if (isObject(a) && isObject(b)) return strategicMergePatch(a, b, {}) === undefined;
  return a === b;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isObjectList(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every(isObject);
}
