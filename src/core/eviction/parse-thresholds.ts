import { parseDuration } from "../../lib/duration.ts";
import { parseGoFloat32 } from "../../lib/go-float.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { trimEndOf } from "../../lib/trim-text.ts";
import { formatQuantity, parseQuantity } from "../../model/quantity.ts";
import { spareEntries } from "./first-look.ts";
import { isSignal, type Signal } from "./signal.ts";
import { isHardThreshold, type Threshold, type ThresholdValue } from "./threshold.ts";

type Statements = Readonly<Record<string, string>>;

/** Eviction as a configuration file states it: signal by signal. */
export interface EvictionStatements {
  readonly evictionHard: Statements;
  readonly evictionSoft: Statements;
  readonly evictionSoftGracePeriod: Statements;
  readonly evictionMinimumReclaim: Statements;
  readonly enforceNodeAllocatable: readonly string[];
}

export interface ThresholdList {
  readonly thresholds: readonly Threshold[];
  /** How many more fit into the list before it moves; see first-look.ts. */
  readonly spare: number;
}

/** The thresholds of a configuration, hard ones first, or what is wrong with it. */
export function parseThresholds(statements: EvictionStatements): Result<ThresholdList, string> {
  const hard = parseEach(statements.evictionHard, parseThreshold);
  if (!hard.ok) return hard;
  const soft = parseEach(statements.evictionSoft, parseThreshold);
  if (!soft.ok) return soft;
  const gracePeriods = parseEach(statements.evictionSoftGracePeriod, parseGracePeriod);
  if (!gracePeriods.ok) return gracePeriods;
  const reclaims = parseEach(statements.evictionMinimumReclaim, parseMinimumReclaim);
  if (!reclaims.ok) return reclaims;
  const thresholds = [...hard.value.values()].filter((threshold) => threshold !== undefined);
  const hardCount = thresholds.length;
  for (const [signal, threshold] of soft.value) {
    if (threshold === undefined) continue;
    const gracePeriodMs = gracePeriods.value.get(signal);
    if (gracePeriodMs === undefined) {
      return err(`grace period must be specified for the soft eviction threshold ${signal}`);
    }
    thresholds.push({ ...threshold, gracePeriodMs });
  }
  const withReclaim = thresholds.map((threshold) => {
    const minReclaim = reclaims.value.get(threshold.signal);
    // Each threshold has its own value: settings are compared by identity.
    return minReclaim === undefined ? threshold : { ...threshold, minReclaim: { ...minReclaim } };
  });
  const counts = { hard: hardCount, soft: withReclaim.length - hardCount };
  if (!statements.enforceNodeAllocatable.includes("pods")) {
    return ok({ thresholds: withReclaim, spare: spareEntries(counts) });
  }
  const added = allocatableThresholds(withReclaim);
  const spare = spareEntries({ ...counts, allocatable: added.length });
  return ok({ thresholds: [...withReclaim, ...added], spare });
}

/** What holds for the machine's memory also holds for what the pods together may have of it. */
function allocatableThresholds(thresholds: readonly Threshold[]): Threshold[] {
  return thresholds
    .filter((threshold) => threshold.signal === "memory.available" && isHardThreshold(threshold))
    .map((threshold) => ({ ...threshold, signal: "allocatableMemory.available" }));
}

function parseEach<T>(
  statements: Statements,
  parse: (signal: Signal, text: string) => Result<T, string>,
): Result<Map<Signal, T>, string> {
  const results = new Map<Signal, T>();
  for (const [signal, text] of Object.entries(statements)) {
    if (!isSignal(signal)) return err(`unsupported eviction signal ${signal}`);
    const parsed = parse(signal, text);
    if (!parsed.ok) return parsed;
    results.set(signal, parsed.value);
  }
  return ok(results);
}

/** Undefined for a percentage that switches the threshold off. */
function parseThreshold(signal: Signal, text: string): Result<Threshold | undefined, string> {
  if (text === "0%" || text === "100%") return ok(undefined);
  const value = parseValue(text);
  if (!value.ok) return value;
  const problem = thresholdProblem(signal, text, value.value);
  if (problem !== undefined) return err(problem);
  return ok({ signal, operator: "LessThan", value: value.value, gracePeriodMs: 0 });
}

function thresholdProblem(signal: Signal, text: string, value: ThresholdValue): string | undefined {
  if (value.kind === "quantity") {
    if (value.quantity.unscaled > 0n) return undefined;
    return `eviction threshold ${signal} must be positive: ${formatQuantity(value.quantity)}`;
  }
  const what = `eviction percentage threshold ${signal} must be`;
  if (value.percentage < 0) return `${what} >= 0%: ${text}`;
  return value.percentage > 1 ? `${what} <= 100%: ${text}` : undefined;
}

function parseGracePeriod(_signal: Signal, text: string): Result<number, string> {
  const period = parseDuration(text);
  if (!period.ok) return period;
  if (period.value < 0) {
    return err(`invalid eviction grace period specified: ${text}, must be a positive value`);
  }
  return period;
}

function parseMinimumReclaim(signal: Signal, text: string): Result<ThresholdValue, string> {
  const value = parseValue(text);
  if (!value.ok) return value;
  if (value.value.kind === "quantity") {
    return value.value.quantity.unscaled < 0n
      ? err(`negative eviction minimum reclaim specified for ${signal}`)
      : value;
  }
  return value.value.percentage <= 0
    ? err(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`)
    : value;
}

function parseValue(text: string): Result<ThresholdValue, string> {
  if (text.endsWith("%")) {
    const parsed = parseGoFloat32(trimEndOf(text, "%"));
    if (!parsed.ok) return parsed;
    return ok({ kind: "percentage", percentage: Math.fround(parsed.value / 100) });
  }
  const quantity = parseQuantity(text);
  return quantity.ok ? ok({ kind: "quantity", quantity: quantity.value }) : quantity;
}
