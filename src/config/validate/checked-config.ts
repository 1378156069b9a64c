import type { FeatureGateState } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";

/** The input of a check: the configuration, and the gates as they are with the configuration's own. */
interface CheckedConfig {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGateState;
  /** The version of the host's cgroups. */
  readonly cgroupVersion: 1 | 2;
}

/** A check's messages, in order. */
export type Check = (checked: CheckedConfig) => readonly string[];

/** The message alone where the condition holds. */
export function when(condition: boolean, message: string): readonly string[] {
  return condition ? [`invalid configuration: ${message}`] : [];
}

export function isOutside(value: number, least: number, most: number): boolean {
  return value < least || value > most;
}

/** As Go prints a float: with an exponent, of two digits at least, from a million on. */
export function shortFloat(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}
