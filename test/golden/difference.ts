import { isList, isObject, textAt } from "./json-path.ts";
import type { Json } from "./recording.ts";

/** A place where Berth did something else than the recorded kubelet. */
export interface Difference {
  /** Such as "CreateContainer c attempt 0: request.config.tty" or "status.conditions.Ready". */
  readonly path: string;
  /** JSON; "(absent)" where there is nothing. */
  readonly recorded: string;
  readonly berth: string;
}

export const ABSENT = "(absent)";

/** Every field in which two values differ; environments and other lists with identities by these. */
export function valueDifferences(
  path: string,
  recorded: Json | undefined,
  berth: Json | undefined,
): readonly Difference[] {
  if (isObject(recorded) && isObject(berth)) {
    const keys = [...new Set([...Object.keys(recorded), ...Object.keys(berth)])];
    return keys.flatMap((name) => valueDifferences(`${path}.${name}`, recorded[name], berth[name]));
  }
  if (isList(recorded) && isList(berth)) {
    const keyed = byIdentity(recorded, berth);
    if (keyed !== undefined) return valueDifferences(path, ...keyed);
    const longest = recorded.length > berth.length ? recorded : berth;
    return longest.flatMap((_, index) =>
      valueDifferences(`${path}[${index}]`, recorded[index], berth[index]),
    );
  }
  if (Object.is(recorded, berth)) return [];
  return [{ path, recorded: shown(recorded), berth: shown(berth) }];
}

type JsonObject = { readonly [key: string]: Json };

/** Environments are compared by variable, so that one too many does not shift all others. */
function byIdentity(
  recorded: readonly Json[],
  berth: readonly Json[],
): readonly [JsonObject, JsonObject] | undefined {
  const all = [...recorded, ...berth];
  if (!all.every((element) => isObject(element) && typeof element["key"] === "string")) {
    return undefined;
  }
  return [asMap(recorded), asMap(berth)];
}

function asMap(variables: readonly Json[]): JsonObject {
  return Object.fromEntries(
    variables.map((variable) =>
      isObject(variable) ? [textAt(variable, "key"), variable["value"] ?? ""] : ["", variable],
    ),
  );
}

function shown(value: Json | undefined): string {
  return value === undefined ? ABSENT : JSON.stringify(value);
}
