import { isList, isObject } from "./json-path.ts";
import type { KnownNames } from "./known-names.ts";
import type { Json } from "./recording.ts";

// What a cgroup without a limit says; whether a status shows it depends on the moment.
const UNLIMITED = "9007199254740988Ki";

/** A body of a request, or a status, with symbols for all that no two runs share; resource versions are left out. */
export function normaliseApiValue(value: Json, names: KnownNames): Json {
  if (typeof value === "string") return normaliseText(value, names);
  if (isList(value)) return value.map((element) => normaliseApiValue(element, names));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => key !== "resourceVersion" && inner !== UNLIMITED)
      .map(([key, inner]) => [key, normaliseApiValue(inner, names)]),
  );
}

function normaliseText(text: string, names: KnownNames): string {
  let result = text;
  for (const address of names.addresses) result = result.replaceAll(address, "<pod IP>");
  const translated = names.translate(
    result.replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uid>"),
  );
  return String(translated)
    .replaceAll(/\bsha256:[0-9a-f]{64}\b/g, "<image id>")
    .replaceAll(/\b[0-9a-f]{64}\b/g, (id) => names.symbolOf(id) ?? "<id>")
    .replaceAll(/\b[0-9a-f]{32}\b/g, "<uid>")
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "<time>");
}

/** A body without what is only written because it is empty: nulls, and the answer's part of a request. */
export function withoutBlanks(value: Json): Json {
  if (isList(value)) return value.map(withoutBlanks);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]): [string, Json] => [key, withoutBlanks(inner)])
      .filter(
        ([, inner]) =>
          inner !== null && inner !== "" && !(isObject(inner) && Object.keys(inner).length === 0),
      ),
  );
}
