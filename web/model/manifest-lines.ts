// A pod as YAML, line by line, with what it would have been given anyway marked as such.
import { deepEqual } from "../../src/lib/deep-equal.ts";
import { parseJsonText } from "../../src/lib/json-text.ts";
import { type DecodedPod, defaultPod } from "../../src/model/defaults/default-pod.ts";

export interface ManifestLine {
  readonly text: string;
  /** Its value is the one that the API fills in where a manifest says nothing. */
  readonly isDefault: boolean;
}

type Json = string | number | boolean | null | undefined | readonly Json[] | JsonMap;
interface JsonMap {
  readonly [name: string]: Json;
}
type Path = readonly (string | number)[];

/** What the agent and the API know, and nobody writes. */
const unwritten: ReadonlySet<string> = new Set(["managedFields"]);

/** Where a spec says what would be filled in anyway. */
export interface SpecDefaults {
  readonly paths: ReadonlySet<string>;
  /** False = only its beginning was looked at. */
  readonly isWhole: boolean;
}

/** Each field costs one look at all of the spec, and the page stands still meanwhile. */
const longestMs = 500;

export function manifestLines(pod: object, { paths }: SpecDefaults): readonly ManifestLine[] {
  const shown = { apiVersion: "v1", kind: "Pod", ...(pod as JsonMap) };
  return mapLines(shown, { path: [], indent: 0, isDefault: false, defaults: paths });
}

interface Place {
  readonly path: Path;
  readonly indent: number;
  readonly isDefault: boolean;
  readonly defaults: ReadonlySet<string>;
}

function mapLines(map: JsonMap, place: Place): readonly ManifestLine[] {
  return Object.entries(map).flatMap(([name, value]) => {
    if (value === undefined || unwritten.has(name)) return [];
    const path = [...place.path, name];
    const isDefault = place.isDefault || place.defaults.has(JSON.stringify(path));
    return valueLines(`${keyText(name)}:`, value, { ...place, path, isDefault });
  });
}

function valueLines(head: string, value: Json, place: Place): readonly ManifestLine[] {
  const { indent, isDefault } = place;
  const line = (text: string): ManifestLine => ({
    text: `${" ".repeat(indent)}${text}`,
    isDefault,
  });
  if (isList(value)) {
    if (value.length === 0) return [line(`${head} []`)];
    const items = value.flatMap((item, index) =>
      itemLines(item, { ...place, path: [...place.path, index] }),
    );
    return [line(head), ...items];
  }
  if (typeof value === "object" && value !== null) {
    const below = mapLines(value, { ...place, indent: indent + 2 });
    return below.length === 0 ? [line(`${head} {}`)] : [line(head), ...below];
  }
  if (typeof value === "string" && isText(value)) {
    const texts = value.replace(/\n$/, "").split("\n");
    const style = value.endsWith("\n") ? "|" : "|-";
    return [
      line(`${head} ${style}`),
      ...texts.map((text) => (text === "" ? { text, isDefault } : line(`  ${text}`))),
    ];
  }
  return [line(`${head} ${scalarText(value)}`)];
}

/** The first line of an item begins with a dash, in the column of the list's name. */
function itemLines(item: Json, place: Place): readonly ManifestLine[] {
  const lines =
    typeof item === "object" && item !== null && !isList(item)
      ? mapLines(item, { ...place, indent: place.indent + 2 })
      : valueLines("-", item, place);
  if (typeof item !== "object" || item === null || isList(item)) return lines;
  const [first, ...rest] = lines;
  const margin = " ".repeat(place.indent);
  if (first === undefined) return [{ text: `${margin}- {}`, isDefault: place.isDefault }];
  return [{ ...first, text: `${margin}- ${first.text.slice(place.indent + 2)}` }, ...rest];
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Whether it is shown line by line: nothing is lost then. */
function isText(value: string): boolean {
  // oxlint-disable-next-line no-control-regex -- it is what is looked for
  return value.includes("\n") && !/^\s|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\n\n$/.test(value);
}

const plain = /^[A-Za-z_/][A-Za-z0-9_./@%+-]*(?: [A-Za-z0-9_./@%+=-]+)*$/;
const ambiguous = /^(?:true|false|yes|no|on|off|y|n|null|~)$/i;

function keyText(name: string): string {
  return plain.test(name) && !ambiguous.test(name) ? name : JSON.stringify(name);
}

function scalarText(value: Json): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  const isPlain =
    (plain.test(value) || /^[A-Za-z_./][A-Za-z0-9_./@%+:-]*[A-Za-z0-9_]$/.test(value)) &&
    !ambiguous.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** Of a spec as JSON: what the API would fill in where it is missing. Nothing says what its author wrote. */
export function findDefaults(specText: string, mostMs: number = longestMs): SpecDefaults {
  const pod: JsonMap = { spec: parseJsonText(specText) as Json };
  const found = new Set<string>();
  const endMs = performance.now() + mostMs;
  let isWhole = true;
  const walk = (value: Json, path: Path): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, below] of isList(value) ? value.entries() : Object.entries(value)) {
      const at = [...path, name];
      isWhole &&= performance.now() < endMs;
      if (!isWhole) return;
      if (typeof name === "string" && isDefaultAt(pod, at, below)) found.add(JSON.stringify(at));
      else walk(below, at);
    }
  };
  walk(pod["spec"], ["spec"]);
  return { paths: found, isWhole };
}

function isDefaultAt(pod: JsonMap, path: Path, value: Json): boolean {
  const without = removed(pod, path);
  try {
    return deepEqual(
      valueAt(defaultPod(without as unknown as DecodedPod) as unknown as Json, path),
      value,
    );
  } catch {
    // Without it there would be no pod.
    return false;
  }
}

function removed(value: Json, [name, ...rest]: Path): Json {
  if (typeof value !== "object" || value === null || name === undefined) return value;
  if (isList(value)) {
    return value.map((each, index) => (index === name ? removed(each, rest) : each));
  }
  const { [name]: below, ...others } = value;
  return rest.length === 0 ? others : { ...value, [name]: removed(below, rest) };
}

function valueAt(value: Json, path: Path): Json {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = isList(at) ? at[Number(name)] : at[name];
  }
  return at;
}
