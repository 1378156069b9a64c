import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import type { FilterItem, FilterRule, IpFamily } from "../../model/packet-filter.ts";
import type { PacketFilter } from "../../ports/packet-filter.ts";

const TIMEOUT_MS = 20_000;
// Other programs change the filter too, under a common lock.
const WAIT = ["-w", "5"];

/** Sets the packet filter by the program iptables at that path, and by ip6tables beside it. */
export function iptablesFilter(iptables: string | undefined): PacketFilter {
  const run = async (
    { family, table }: FilterItem,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<Outcome> => {
    // One that has begun may finish: a removal after this agent must find what it made.
    signal.throwIfAborted();
    return runIptables(programOf(family, iptables), [...WAIT, "-t", table, ...command]);
  };
  /** Other failures than that the rule or chain is missing show again, and better, when it is made. */
  const isThere = async (item: FilterItem, signal: AbortSignal): Promise<boolean> => {
    const question = item.kind === "chain" ? ["-S", item.chain] : ["-C", item.chain, ...item.words];
    return (await run(item, question, signal)).code === 0;
  };
  return {
    ensure: async (item, signal) => {
      if (await isThere(item, signal)) return false;
      const outcome = await run(item, creation(item), signal);
      // If another process made the same chain meanwhile, nothing is left to do.
      if (outcome.code !== 0 && (await isThere(item, signal))) return false;
      requireSuccess(outcome);
      return true;
    },
    remove: async (rule, signal) => {
      while (await isThere(rule, signal)) {
        requireSuccess(await run(rule, ["-D", rule.chain, ...rule.words], signal));
      }
    },
  };
}

function creation(item: FilterItem): readonly string[] {
  if (item.kind === "chain") return ["-N", item.chain];
  return [insertion(item), item.chain, ...item.words];
}

function insertion({ position }: FilterRule): "-I" | "-A" {
  return position === "first" ? "-I" : "-A";
}

function programOf(family: IpFamily, iptables: string | undefined): string {
  if (iptables === undefined) throw new Error("iptables is not installed");
  return family === "IPv4" ? iptables : join(dirname(iptables), "ip6tables");
}

interface Outcome {
  readonly code: number;
  /** What failed, in the program's own words. */
  readonly text: string;
}

/** Rejects when the program cannot be run, or not to its end. */
function runIptables(program: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { timeout: TIMEOUT_MS, killSignal: "SIGKILL" },
      (error, _stdout, stderr) => {
        const text = `${[program, ...args].join(" ")}: ${stderr.trim()}`;
        if (error === null) resolve({ code: 0, text });
        else if (typeof error.code === "number") resolve({ code: error.code, text });
        else if (error.code === "ENOENT") reject(new Error(`${program} is not installed`));
        else reject(new Error(`${text}${error.message}`, { cause: error }));
      },
    );
  });
}

function requireSuccess({ code, text }: Outcome): void {
  if (code !== 0) throw new Error(text);
}
