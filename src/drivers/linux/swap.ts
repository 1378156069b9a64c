import { readFileSync } from "node:fs";

/** Whether the machine swaps to anything. */
export function isSwapOn(): boolean {
  // The first line names the columns.
  return readFileSync("/proc/swaps", "utf8").trim().split("\n").length > 1;
}

/** How much the machine can swap out. */
export function readSwapBytes(): number {
  const kibibytes = /^SwapTotal:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
  return Number(kibibytes ?? 0) * 1024;
}
