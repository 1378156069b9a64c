import { isList, isObject, textAt } from "./json-path.ts";
import type { Json } from "./recording.ts";

/** A request without what is random or of the machine's own: list orders, times, file names, image ids. */
export function normaliseRequest(value: Json): Json {
  return normaliseField("", value) ?? {};
}

function normaliseField(name: string, value: Json): Json | undefined {
  if (typeof value === "string") return normaliseText(name, value);
  if (isList(value)) return normaliseList(name, value);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const kept = normaliseField(key, inner);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
}

function normaliseText(name: string, text: string): string {
  if (name === "kubernetes.io/config.seen") {
    return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? "<time>" : text;
  }
  if (name === "image") return text.replace(/^sha256:[0-9a-f]{64}$/, "<image id>");
  if (name === "host_path") {
    return text.replace(/(\/containers\/[^/]+\/)[0-9a-f]{8}$/, "$1<random>");
  }
  return text;
}

function normaliseList(name: string, list: readonly Json[]): Json | undefined {
  const elements = list.map((element) => normaliseField("", element) ?? {});
  if (name === "envs") return keptOrNone(environment(elements));
  // The kubelet takes both from maps and folders in whatever order these have.
  if (name === "options" || name === "hugepage_limits") return sorted(elements);
  return elements;
}

// The order is random.
function environment(variables: readonly Json[]): readonly Json[] {
  return variables.toSorted((a, b) => (textAt(a, "key") < textAt(b, "key") ? -1 : 1));
}

function sorted(list: readonly Json[]): readonly Json[] {
  return list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function keptOrNone(list: readonly Json[]): readonly Json[] | undefined {
  return list.length === 0 ? undefined : list;
}
