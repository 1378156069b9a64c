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

// Addresses of pods: the recorded network's, and those of tests but for the node's own.
const POD_IP = /\b10\.(89\.\d+|99\.(?!0\.)\d+)\.\d+\b/g;
const UID = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** What depends on the moment in messages, and what stands for it. */
const MOMENTS: readonly (readonly [RegExp, string])[] = [
  [/[^\s"/]+(\/[^\s"/@]+)*@sha256:[0-9a-f]{64}/g, "<image id>"],
  [/\bsha256:[0-9a-f]{64}\b/g, "<image id>"],
  [/\b[0-9a-f]{32}\b/g, "<uid>"],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "<time>"],
  [/\bin [\d.]+m?s \([\d.]+m?s including waiting\)\. Image size: \d+ bytes/g, "in <time>"],
  // What else runs on the node is up to the other scenarios.
  [/\bused: \d+/g, "used: <amount>"],
];

function normaliseText(text: string, names: KnownNames): string {
  const known = names.translateText(text.replaceAll(UID, "<uid>").replaceAll(POD_IP, "<pod IP>"));
  const withIds = known.replaceAll(
    /(?<!sha256:)\b[0-9a-f]{64}\b/g,
    (id) => names.symbolOf(id) ?? "<id>",
  );
  return MOMENTS.reduce((result, [pattern, symbol]) => result.replaceAll(pattern, symbol), withIds);
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
