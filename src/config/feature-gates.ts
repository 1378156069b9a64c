import { err, ok, type Result } from "../lib/result.ts";
import { type FeatureGate, featureDependencies, featureGates } from "./generated/feature-gates.ts";

/** Which gates were set, and what that means for each. Gates that are in neither have their default. */
export interface FeatureGateState {
  /** As given. */
  readonly given: ReadonlyMap<string, boolean>;
  /** With AllAlpha and AllBeta expanded. */
  readonly resolved: ReadonlyMap<string, boolean>;
}

export type GateMap = Readonly<Record<string, boolean>>;

const groupStages: ReadonlyMap<string, string> = new Map([
  ["AllAlpha", "ALPHA"],
  ["AllBeta", "BETA"],
]);

/** All gates at their defaults. */
export const defaultFeatureGates: FeatureGateState = { given: new Map(), resolved: new Map() };

export function isFeatureEnabled({ resolved }: FeatureGateState, name: string): boolean {
  return resolved.get(name) ?? knownGate(name)?.isOn ?? false;
}

/** The gates with others set on top, or everything that speaks against it. */
export function setFeatureGates(
  state: FeatureGateState,
  gates: GateMap | undefined,
): Result<FeatureGateState, readonly string[]> {
  const given = new Map([...state.given, ...Object.entries(gates ?? {})]);
  const resolved = new Map(state.resolved);
  const errors: string[] = [];
  for (const [name, isOn] of [...given].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const gate = knownGate(name);
    if (gate === undefined) return err([...errors, `unrecognized feature gate: ${name}`]);
    if (gate.isLocked && gate.isOn !== isOn) {
      errors.push(`cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOn}`);
      continue;
    }
    setUnsetGates(resolved, groupStages.get(name), isOn);
    resolved.set(name, isOn);
  }
  const next = { given, resolved };
  if (errors.length === 0) errors.push(...brokenDependencies(next));
  return errors.length === 0 ? ok(next) : err(errors);
}

function setUnsetGates(
  resolved: Map<string, boolean>,
  stage: string | undefined,
  isOn: boolean,
): void {
  if (stage === undefined) return;
  for (const [name, gate] of Object.entries(featureGates)) {
    if (gate.stage !== stage || groupStages.has(name) || resolved.has(name)) continue;
    resolved.set(name, isOn);
  }
}

function brokenDependencies(state: FeatureGateState): string[] {
  return Object.entries(featureDependencies).flatMap(([name, needed]) => {
    if (!isFeatureEnabled(state, name)) return [];
    const missing = needed.filter((other) => !isFeatureEnabled(state, other));
    if (missing.length === 0) return [];
    return [
      `${name} is enabled, but depends on features that are disabled: [${missing.join(" ")}]`,
    ];
  });
}

function knownGate(name: string): FeatureGate | undefined {
  return Object.hasOwn(featureGates, name) ? featureGates[name] : undefined;
}
