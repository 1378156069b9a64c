import { deepEqual } from "../../lib/deep-equal.ts";
import { defaultFeatureGates, type FeatureGateState, isFeatureEnabled } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { kubeletFlags } from "../generated/kubelet-flags.ts";
import { fileDefaultConfig, legacyDefaultConfig } from "../legacy-defaults.ts";
import { fieldSupport } from "./field-support.ts";
import { flagSupport } from "./flag-support.ts";
import { gateSupport } from "./gate-support.ts";

/** What Berth does not do of a configuration. */
export interface Judgement {
  /** Settings without effect, each with the reason. */
  readonly warnings: readonly string[];
  /** Settings that Berth must not start with, each with the reason. */
  readonly refusals: readonly string[];
}

type FieldName = keyof KubeletConfiguration;

/** Finds everything in a configuration, its gates and its flags that Berth does not do. Defaults ask for nothing. */
export function judgeConfig(
  config: KubeletConfiguration,
  gates: FeatureGateState,
  settings: ReadonlyMap<string, string>,
): Judgement {
  const warnings: string[] = [];
  const refusals = [...gateRefusals(gates)];
  const defaults = [fileDefaultConfig(), legacyDefaultConfig()];
  for (const field of fieldNames()) {
    const { treatment, note } = fieldSupport[field];
    const value = config[field];
    const isDefault = isEmpty(value) || defaults.some((base) => deepEqual(base[field], value));
    if (isDefault) continue;
    const text = `${field}: ${note}`;
    if (treatment === "warned") warnings.push(text);
    if (treatment === "refused") refusals.push(text);
  }
  for (const [name, value] of settings) {
    const support = Object.hasOwn(flagSupport, name) ? flagSupport[name] : undefined;
    if (support === undefined || value === "" || value === flagDefault(name)) continue;
    if (support.treatment === "warned") warnings.push(`--${name}: ${support.note}`);
    if (support.treatment === "refused") refusals.push(`--${name}: ${support.note}`);
  }
  return { warnings, refusals };
}

function fieldNames(): readonly FieldName[] {
  // The table has exactly the configuration's fields, by its type.
  return Object.keys(fieldSupport) as FieldName[];
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === "") return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function gateRefusals(gates: FeatureGateState): readonly string[] {
  return Object.entries(gateSupport).flatMap(([name, { treatment, note }]) => {
    const isOn = isFeatureEnabled(gates, name);
    if (treatment !== "refused" || isOn === isFeatureEnabled(defaultFeatureGates, name)) return [];
    return [`featureGates ${name}=${isOn}: ${note}`];
  });
}

function flagDefault(name: string): string | undefined {
  return kubeletFlags.find((flag) => flag.name === name)?.default;
}
