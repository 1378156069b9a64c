import { isList, isObject, textAt } from "./json-path.ts";
import type { PodCall, PodCalls } from "./pod-calls.ts";
import type { Json } from "./recording.ts";

/** A place where Berth did something else than the recorded kubelet. */
export interface CallDifference {
  /** Such as "CreateContainer c attempt 0: request.config.tty" or "StopContainer <container c 1>". */
  readonly path: string;
  /** JSON; "(absent)" where there is nothing. */
  readonly recorded: string;
  readonly berth: string;
}

const ABSENT = "(absent)";

/** Every difference between two lives of one pod; `removals` when both show all that was removed. */
export function compareCalls(
  recorded: PodCalls,
  berth: PodCalls,
  { removals }: { readonly removals: boolean } = { removals: true },
): readonly CallDifference[] {
  const inOrder = align(recorded.inOrder, berth.inOrder).flatMap(differencesOf);
  if (!removals) return inOrder;
  return [...inOrder, ...align(recorded.removals, berth.removals).flatMap(differencesOf)];
}

interface Pair {
  readonly recorded?: PodCall | undefined;
  readonly berth?: PodCall | undefined;
}

/** Pairs the calls by the longest common subsequence of their keys. */
function align(recorded: readonly PodCall[], berth: readonly PodCall[]): readonly Pair[] {
  const lengths = commonLengths(recorded.map(key), berth.map(key));
  const pairs: Pair[] = [];
  let row = 0;
  let column = 0;
  while (row < recorded.length || column < berth.length) {
    const left = recorded[row];
    const right = berth[column];
    const down = lengths[row + 1]?.[column] ?? -1;
    const across = lengths[row]?.[column + 1] ?? -1;
    if (left !== undefined && right !== undefined && key(left) === key(right)) {
      pairs.push({ recorded: left, berth: right });
      row += 1;
      column += 1;
    } else if (right === undefined || (left !== undefined && down >= across)) {
      pairs.push({ recorded: left });
      row += 1;
    } else {
      pairs.push({ berth: right });
      column += 1;
    }
  }
  return pairs;
}

/** Cell [row][column]: the length of the longest common subsequence of what follows there. */
function commonLengths(left: readonly string[], right: readonly string[]): readonly number[][] {
  const lengths = Array.from({ length: left.length + 1 }, () =>
    Array.from({ length: right.length + 1 }, () => 0),
  );
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const cells = lengths[row] ?? [];
      const below = lengths[row + 1] ?? [];
      cells[column] =
        left[row] === right[column]
          ? (below[column + 1] ?? 0) + 1
          : Math.max(below[column] ?? 0, cells[column + 1] ?? 0);
    }
  }
  return lengths;
}

function key({ method, target }: PodCall): string {
  return `${method} ${target}`;
}

function differencesOf({ recorded, berth }: Pair): readonly CallDifference[] {
  if (recorded === undefined || berth === undefined) {
    const call = recorded ?? berth;
    if (call === undefined) return [];
    const said = summary(call);
    return [
      recorded === undefined
        ? { path: key(call), recorded: ABSENT, berth: said }
        : { path: key(call), recorded: said, berth: ABSENT },
    ];
  }
  const place = (field: string): string => `${key(recorded)}: ${field}`;
  return [
    ...valueDifferences(place("deadline"), recorded.deadlineSeconds, berth.deadlineSeconds),
    ...valueDifferences(place("outcome"), recorded.outcome, berth.outcome),
    ...valueDifferences(place("request"), recorded.request, berth.request),
  ];
}

function summary({ deadlineSeconds, outcome }: PodCall): string {
  return `called, deadline ${deadlineSeconds ?? "none"}, ${outcome}`;
}

function valueDifferences(
  path: string,
  recorded: Json | undefined,
  berth: Json | undefined,
): readonly CallDifference[] {
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
