import { parseGoBool } from "../../../lib/go-number.ts";
import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { CpuTopology } from "./cpu-topology.ts";

const optionNames = [
  "full-pcpus-only",
  "distribute-cpus-across-numa",
  "align-by-socket",
  "distribute-cpus-across-cores",
  "strict-cpu-reservation",
  "prefer-align-cpus-by-uncorecache",
] as const;

type OptionName = (typeof optionNames)[number];

/** The options that are set to true. */
export type StaticOptions = ReadonlySet<OptionName>;

export interface OptionGates {
  readonly alpha: boolean;
  readonly beta: boolean;
}

const alphaOptions: readonly string[] = ["align-by-socket", "distribute-cpus-across-cores"];
const betaOptions: readonly string[] = ["distribute-cpus-across-numa"];

const exclusive: readonly (readonly [OptionName, OptionName])[] = [
  ["full-pcpus-only", "distribute-cpus-across-cores"],
  ["distribute-cpus-across-numa", "distribute-cpus-across-cores"],
  ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"],
  ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"],
];

export function parseStaticOptions(
  options: Readonly<Record<string, string>>,
  gates: OptionGates,
): Result<StaticOptions, string> {
  const set = new Set<OptionName>();
  for (const [name, text] of Object.entries(options)) {
    const known = optionNames.find((each) => each === name);
    if (known === undefined) return err(`unknown CPU Manager Policy option: ${quoteText(name)}`);
    if (alphaOptions.includes(name) && !gates.alpha) return err(notEnabled("Alpha", name));
    if (betaOptions.includes(name) && !gates.beta) return err(notEnabled("Beta", name));
    const value = parseGoBool(text);
    if (!value.ok) return err(`bad value for option ${quoteText(name)}: ${value.error}`);
    if (value.value) set.add(known);
  }
  const conflict = exclusive.find(([a, b]) => set.has(a) && set.has(b));
  return conflict === undefined
    ? ok(set)
    : err(
        `static policy options ${conflict[0]} and ${conflict[1]} can not be used at the same time`,
      );
}

function notEnabled(stage: "Alpha" | "Beta", name: string): string {
  return `CPU Manager Policy ${stage}-level Options not enabled, but option ${quoteText(name)} provided`;
}

/** Why the options do not fit this machine. */
export function staticOptionsProblem(
  options: StaticOptions,
  topology: CpuTopology,
  topologyPolicy: string,
): string | undefined {
  if (!options.has("align-by-socket")) return undefined;
  if (topologyPolicy === "single-numa-node") {
    // Spelled as the kubelet spells it.
    return "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option";
  }
  return topology.socketCount > topology.numaNodeCount
    ? "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    : undefined;
}
