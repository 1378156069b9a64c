import { readFileSync } from "node:fs";

export interface CpuTopology {
  readonly physicalCpus: number;
  readonly sockets: number;
}

export function readCpuTopology(): CpuTopology {
  return parseCpuTopology(readFileSync("/proc/cpuinfo", "utf8"));
}

/** Counts cores and sockets in the text of /proc/cpuinfo; a machine that does not report them has one of each per processor. */
export function parseCpuTopology(text: string): CpuTopology {
  const processors = text.split(/\n\n+/).filter((block) => /^processor\s*:/m.test(block));
  const field = (block: string, name: string): string | undefined =>
    new RegExp(`^${name}\\s*:\\s*(\\d+)`, "m").exec(block)?.[1];
  const sockets = new Set(processors.map((block) => field(block, "physical id") ?? "0"));
  const cores = new Set(
    processors.map((block, index) => {
      const core = field(block, "core id") ?? `processor ${index}`;
      return `${field(block, "physical id") ?? "0"}/${core}`;
    }),
  );
  return { physicalCpus: cores.size, sockets: sockets.size };
}
