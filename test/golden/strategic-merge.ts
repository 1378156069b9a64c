import { isList, isObject } from "./json-path.ts";
import type { Json } from "./recording.ts";

// What elements of the lists that recordings patch are told apart by.
const MERGE_KEYS = ["name", "type"];

/** The API server's strategic merge, as far as recordings need it. */
export function strategicMerge(value: Json | undefined, patch: Json): Json {
  if (isList(patch)) {
    const key = MERGE_KEYS.find((name) => patch.every((item) => isObject(item) && name in item));
    return key === undefined ? patch : mergeLists(isList(value) ? value : [], patch, key);
  }
  if (!isObject(patch)) return patch;
  const base = isObject(value) ? value : {};
  const merged = Object.entries(patch).map(([name, inner]) => [
    name,
    strategicMerge(base[name], inner),
  ]);
  return { ...base, ...Object.fromEntries(merged) };
}

function mergeLists(value: readonly Json[], patch: readonly Json[], key: string): readonly Json[] {
  const keyOf = (item: Json): Json | undefined => (isObject(item) ? item[key] : undefined);
  const patchFor = (item: Json): Json | undefined =>
    patch.find((change) => keyOf(change) === keyOf(item));
  const known = new Set(value.map(keyOf));
  return [
    ...value.map((item) => {
      const change = patchFor(item);
      return change === undefined ? item : strategicMerge(item, change);
    }),
    ...patch.filter((change) => !known.has(keyOf(change))),
  ];
}
