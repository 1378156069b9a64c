import { errorText } from "../../lib/error-text.ts";
import { decideAgain, decisionPod } from "./decision.ts";
import { recordedValue } from "./recorded-value.ts";
import type { RecordedDecision } from "./recording.ts";

export interface Difference {
  /** From 1. */
  readonly position: number;
  /** The pod that was decided about. */
  readonly pod: ReturnType<typeof decisionPod>;
  readonly recorded: RecordedDecision;
  /** Where the outcomes differ; absent = there is nothing at that place. */
  readonly changes: readonly OutcomeChange[];
}

interface OutcomeChange {
  /** As in steps[0].because; empty = the whole outcome. */
  readonly path: string;
  readonly before?: unknown;
  readonly now?: unknown;
}

/** Decides everything again, in order; answers the first outcome that is not what was recorded. */
export function findDifference(decisions: readonly RecordedDecision[]): Difference | undefined {
  for (const [index, recorded] of decisions.entries()) {
    const changes = compareAgain(recorded);
    if (changes.length === 0) continue;
    return { position: index + 1, pod: decisionPod(recorded.decision), recorded, changes };
  }
  return undefined;
}

function compareAgain({ decision }: RecordedDecision): readonly OutcomeChange[] {
  const { outcome: before } = decision;
  let now: unknown;
  try {
    now = recordedValue(decideAgain(decision));
  } catch (error) {
    return [{ path: "", before, now: `fails: ${errorText(error)}` }];
  }
  return differences(before, now, "");
}

/** The smallest parts that differ; what is undefined counts as absent. */
function differences(before: unknown, now: unknown, path: string): OutcomeChange[] {
  if (Object.is(before, now)) return [];
  const bothLists = Array.isArray(before) && Array.isArray(now);
  if (bothLists || (isRecord(before) && isRecord(now))) {
    const keys = new Set([...Object.keys(before), ...Object.keys(now)]);
    return [...keys].flatMap((key) => {
      const inside = bothLists ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      return differences(Reflect.get(before, key), Reflect.get(now, key), inside);
    });
  }
  return [{ path, before, now }];
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
