import { err, ok, type Result } from "../../lib/result.ts";
import { joinErrors } from "../error-list.ts";
import { defaultFeatureGates, type FeatureGateState, setFeatureGates } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { legacyDefaultConfig } from "../legacy-defaults.ts";
import { FlagSet } from "./flag-set.ts";
import { nodeLabelsProblem } from "./node-labels.ts";
import { addPairs } from "./text-maps.ts";
import { walkArguments } from "./walk-arguments.ts";

/** A kubelet's command line as it was read. */
export interface KubeletCommandLine {
  readonly args: readonly string[];
  /** Every flag that was given, with its final value as text. */
  readonly settings: ReadonlyMap<string, string>;
  /** What the flags make of the defaults, for when there is no file. */
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGateState;
  readonly wantsHelp: boolean;
}

/** Reads the kubelet's flags. The error names the first thing that is wrong. */
export function parseCommandLine(args: readonly string[]): Result<KubeletCommandLine, string> {
  const flags = new FlagSet(legacyDefaultConfig());
  const positionals = walkArguments(args, (flag, value) => flags.set(flag, value));
  if (!positionals.ok) return err(`failed to parse kubelet flag: ${positionals.error}`);
  const [command] = positionals.value;
  if (command !== undefined) return err(`unknown command ${command}`);
  const { config, settings } = flags;
  const wantsHelp = settings.get("help") === "true";
  if (wantsHelp) return ok({ args, settings, config, gates: defaultFeatureGates, wantsHelp });
  const gates = setGates(defaultFeatureGates, config);
  if (!gates.ok) return gates;
  const labels = addPairs({}, settings.get("node-labels") ?? "", "labels");
  const problem = labels.ok ? nodeLabelsProblem(labels.value) : labels.error;
  if (problem !== undefined) return err(`failed to validate kubelet flags: ${problem}`);
  return ok({ args, settings, config, gates: gates.value, wantsHelp });
}

/** A file's configuration with the flags on top, which win; gates of both are kept. */
export function applyFlags(
  file: KubeletConfiguration,
  { args, gates }: KubeletCommandLine,
): Result<Pick<KubeletCommandLine, "config" | "gates">, string> {
  const { text } = file.logging.options;
  // This one flag has its own default and not the file's.
  const options = { ...file.logging.options, text: { ...text, splitStream: false } };
  const flags = new FlagSet({ ...file, logging: { ...file.logging, options } });
  const read = walkArguments(args, (flag, value) => flags.set(flag, value));
  if (!read.ok) return err(`failed to precedence kubeletConfigFlag: ${read.error}`);
  const featureGates = flags.config.featureGates && {
    ...file.featureGates,
    ...flags.config.featureGates,
  };
  const config = { ...flags.config, featureGates };
  const merged = setGates(gates, config);
  return merged.ok ? ok({ config, gates: merged.value }) : merged;
}

function setGates(
  gates: FeatureGateState,
  config: KubeletConfiguration,
): Result<FeatureGateState, string> {
  const set = setFeatureGates(gates, config.featureGates);
  if (set.ok) return set;
  return err(
    `failed to set feature gates from initial flags-based config: ${joinErrors(set.error)}`,
  );
}
