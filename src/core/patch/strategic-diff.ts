import { deepEqual } from "../../lib/deep-equal.ts";

/** How a kind's lists merge; a list that is not named is replaced as a whole. */
export interface PatchSchema {
  /** By list field: what tells its elements apart; empty for a list of plain values. */
  readonly mergeKeys?: Readonly<Record<string, string>>;
  /** Below an object field, or inside the elements of a list field. */
  readonly fields?: Readonly<Record<string, PatchSchema>>;
}

type Fields = Record<string, unknown>;

/** The strategic merge patch that makes `modified` of `original`; empty when they are the same. */
export function strategicDiff(original: object, modified: object, schema: PatchSchema): Fields {
  const before = definedFields(original);
  const after = definedFields(modified);
  const patch: Fields = {};
  for (const [name, value] of Object.entries(after)) {
    if (name in before) Object.assign(patch, diffField(name, before[name], value, schema));
    else patch[name] = value;
  }
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  return patch;
}

function diffField(name: string, before: unknown, after: unknown, schema: PatchSchema): Fields {
  const inner = schema.fields?.[name] ?? {};
  const mergeKey = schema.mergeKeys?.[name];
  if (Array.isArray(before) && Array.isArray(after) && mergeKey !== undefined) {
    if (before.length === 0) return after.length === 0 ? {} : { [name]: after };
    if (mergeKey === "") return diffPlainList(name, before, after);
    return diffKeyedList({ name, mergeKey, inner }, before, after);
  }
  if (isFields(before) && isFields(after)) {
    const patch = strategicDiff(before, after, inner);
    return Object.keys(patch).length === 0 ? {} : { [name]: patch };
  }
  return deepEqual(before, after) ? {} : { [name]: after };
}

interface KeyedList {
  readonly name: string;
  readonly mergeKey: string;
  readonly inner: PatchSchema;
}

function diffKeyedList(
  { name, mergeKey, inner }: KeyedList,
  before: readonly unknown[],
  after: readonly unknown[],
): Fields {
  const keyOf = (element: unknown): unknown => (isFields(element) ? element[mergeKey] : undefined);
  const changes = after.flatMap((element) => {
    const known = before.find((candidate) => keyOf(candidate) === keyOf(element));
    if (!isFields(known) || !isFields(element)) return [element];
    const patch = strategicDiff(known, element, inner);
    return Object.keys(patch).length === 0 ? [] : [{ ...patch, [mergeKey]: keyOf(element) }];
  });
  const kept = new Set(after.map(keyOf));
  const removals = before
    .map(keyOf)
    .filter((key) => !kept.has(key))
    .map((key) => ({ $patch: "delete", [mergeKey]: key }));
  const patches = [...changes, ...removals];
  const isSameOrder = deepEqual(before.map(keyOf), after.map(keyOf));
  if (patches.length === 0 && isSameOrder) return {};
  return {
    ...(after.length === 0
      ? {}
      : { [`$setElementOrder/${name}`]: after.map((element) => ({ [mergeKey]: keyOf(element) })) }),
    ...(patches.length === 0 ? {} : { [name]: patches }),
  };
}

function diffPlainList(
  name: string,
  before: readonly unknown[],
  after: readonly unknown[],
): Fields {
  if (deepEqual(before, after)) return {};
  const added = after.filter((value) => !before.includes(value));
  const removed = before.filter((value) => !after.includes(value));
  return {
    ...(removed.length === 0 ? {} : { [`$deleteFromPrimitiveList/${name}`]: removed }),
    ...(after.length === 0 ? {} : { [`$setElementOrder/${name}`]: after }),
    ...(added.length === 0 ? {} : { [name]: added }),
  };
}

function definedFields(value: object): Fields {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
