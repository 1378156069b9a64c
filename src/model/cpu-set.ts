import { parseGoDecimal } from "../lib/go-number.ts";
import { quoteText } from "../lib/go-text.ts";
import { err, ok, type Result } from "../lib/result.ts";

/** Numbers of CPUs, ascending and each once: plain data that is compared and written as it is. */
export type CpuSet = readonly number[];

export const noCpus: CpuSet = [];

/** A range is written in a few characters; one that is larger than any machine would fill the memory. */
const maxRangeSize = 1n << 20n;

export function cpuSet(cpus: Iterable<number>): CpuSet {
  return [...new Set(cpus)].toSorted((a, b) => a - b);
}

/** Reads the list format of Linux: "0-3,8". The empty text is the empty set. */
export function parseCpuSet(text: string): Result<CpuSet, string> {
  if (text === "") return ok(noCpus);
  const cpus: number[] = [];
  for (const range of text.split(",")) {
    const bounds = parseRange(range);
    if (!bounds.ok) return bounds;
    for (let cpu = bounds.value.first; cpu <= bounds.value.last; cpu++) cpus.push(cpu);
  }
  return ok(cpuSet(cpus));
}

function parseRange(range: string): Result<{ first: number; last: number }, string> {
  const dash = range.indexOf("-");
  const first = parseGoDecimal(dash < 0 ? range : range.slice(0, dash));
  if (!first.ok) return first;
  const last = dash < 0 ? first : parseGoDecimal(range.slice(dash + 1));
  if (!last.ok) return last;
  if (first.value > last.value) {
    return err(`invalid range ${quoteText(range)} (${first.value} > ${last.value})`);
  }
  if (last.value - first.value >= maxRangeSize) {
    return err(`invalid range ${quoteText(range)} (more than ${maxRangeSize} CPUs)`);
  }
  return ok({ first: Number(first.value), last: Number(last.value) });
}

/** The set in the list format of Linux. */
export function cpuSetText(cpus: CpuSet): string {
  const ranges: { first: number; last: number }[] = [];
  for (const cpu of cpus) {
    const range = ranges.at(-1);
    if (range !== undefined && cpu === range.last + 1) range.last = cpu;
    else ranges.push({ first: cpu, last: cpu });
  }
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join();
}

export function unionCpus(...sets: readonly CpuSet[]): CpuSet {
  return cpuSet(sets.flat());
}

export function intersectCpus(a: CpuSet, b: CpuSet): CpuSet {
  const others = new Set(b);
  return a.filter((cpu) => others.has(cpu));
}

/** What is in the first set and not in the second. */
export function withoutCpus(a: CpuSet, b: CpuSet): CpuSet {
  const others = new Set(b);
  return a.filter((cpu) => !others.has(cpu));
}

export function areSameCpus(a: CpuSet, b: CpuSet): boolean {
  return a.length === b.length && a.every((cpu, index) => cpu === b[index]);
}

export function areCpusWithin(a: CpuSet, b: CpuSet): boolean {
  return withoutCpus(a, b).length === 0;
}
