import { align, type Pair } from "./align.ts";
import { ABSENT, type Difference, valueDifferences } from "./difference.ts";
import type { PodCall, PodCalls } from "./pod-calls.ts";

/** Every difference between two lives of one pod; `removals` when both show all that was removed. */
export function compareCalls(
  recorded: PodCalls,
  berth: PodCalls,
  { removals }: { readonly removals: boolean } = { removals: true },
): readonly Difference[] {
  const inOrder = align(recorded.inOrder, berth.inOrder, key).flatMap(differencesOf);
  if (!removals) return inOrder;
  return [...inOrder, ...align(recorded.removals, berth.removals, key).flatMap(differencesOf)];
}

function key({ method, target }: PodCall): string {
  return `${method} ${target}`;
}

function differencesOf({ recorded, berth }: Pair<PodCall>): readonly Difference[] {
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
