import { parseArgs } from "node:util";
import { errorText } from "../../src/lib/error-text.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";

export interface OneSeed {
  readonly kind: "one";
  readonly seed: number;
  /** Ends the chaos after so many things were done. */
  readonly steps: number | undefined;
  readonly trace: boolean;
}

export interface ManySeeds {
  readonly kind: "many";
  readonly from: number;
  readonly seeds: number;
  readonly workers: number;
  /** Only those with CSI drivers, claims and volumes. */
  readonly storage: boolean;
}

export const simUsage: string = `usage: npm run sim -- [--seeds N] [--from N] [--workers N] [--storage]
       npm run sim -- --seed N [--steps N] [--trace]`;

const defaultSeeds = 100;

/** What the simulator is asked for, or what is wrong with that. */
export function parseSimOptions(
  args: readonly string[],
  cores: number,
): Result<OneSeed | ManySeeds | { readonly kind: "help" }, string> {
  let values: Values;
  try {
    ({ values } = parseArgs({ args: [...args], options: flags }));
  } catch (error) {
    return err(errorText(error));
  }
  if (values.help === true) return ok({ kind: "help" });
  const numbers = new Map<string, number>();
  for (const name of ["seed", "steps", "seeds", "from", "workers"] as const) {
    const text = values[name];
    if (text === undefined) continue;
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      return err(`--${name} ${text}: give a whole number from 1 to 999999999`);
    }
    numbers.set(name, Number(text));
  }
  const seed = numbers.get("seed");
  const isOne = seed !== undefined;
  const foreign = isOne ? ["seeds", "from", "workers"] : ["steps"];
  const flag = isOne ? "storage" : "trace";
  const extra = foreign.find((name) => numbers.has(name)) ?? (values[flag] ? flag : undefined);
  if (extra !== undefined) {
    return err(`--${extra} does not go ${isOne ? "with" : "without"} --seed`);
  }
  if (isOne) {
    return ok({ kind: "one", seed, steps: numbers.get("steps"), trace: values.trace === true });
  }
  const { seeds = defaultSeeds, from = 1, workers = cores } = Object.fromEntries(numbers);
  const storage = values.storage === true;
  return ok({ kind: "many", seeds, from, workers, storage });
}

const flags = {
  seed: { type: "string" },
  steps: { type: "string" },
  trace: { type: "boolean" },
  seeds: { type: "string" },
  from: { type: "string" },
  workers: { type: "string" },
  storage: { type: "boolean" },
  help: { type: "boolean" },
} as const;

type Values = Partial<Record<"seed" | "steps" | "seeds" | "from" | "workers", string>> & {
  readonly trace?: boolean;
  readonly storage?: boolean;
  readonly help?: boolean;
};
