import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename, isAbsolute } from "node:path";
import type { BenchWorld } from "./bench-world.ts";
import type { BenchOptions } from "./options.ts";
import { floor, type MetricResult, type Summary } from "./results.ts";

/** Everything about one run that its reader needs to believe it. */
export interface BenchReport {
  readonly date: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly contenders: Readonly<Record<string, string>>;
  readonly sizes: object;
  readonly results: readonly MetricResult[];
}

export async function createReport(
  world: BenchWorld,
  options: BenchOptions,
  results: readonly MetricResult[],
): Promise<BenchReport> {
  const { runtimeName = "", runtimeVersion = "" } = await world.runtime.version(
    AbortSignal.timeout(10_000),
  );
  const [load] = readFileSync("/proc/loadavg", "utf8").split(" ");
  return {
    date: new Date().toISOString(),
    machine: {
      cpu: cpus()[0]?.model ?? "",
      cores: cpus().length,
      memoryGib: Math.round(totalmem() / 2 ** 30),
      kernel: execFileSync("uname", ["-r"], { encoding: "utf8" }).trim(),
      loadAtEnd: Number(load),
    },
    versions: { node: process.version, runtime: `${runtimeName} ${runtimeVersion}` },
    contenders: Object.fromEntries(
      options.contenders.map(({ name, command }) => [name, command.map(shortWord).join(" ")]),
    ),
    sizes: options.sizes,
    results,
  };
}

/** The folder of a program is left out. */
function shortWord(word: string): string {
  return isAbsolute(word) ? basename(word) : word;
}

/** A table in Markdown: medians with the 90th percentile and count; ratios to the floor and of the peers to Berth. */
export function reportTable({ contenders, results }: BenchReport): string {
  const [own = "", ...peers] = Object.keys(contenders);
  const header = [
    "",
    "measured",
    "unit",
    floor,
    own,
    `${own} / ${floor}`,
    ...peers.flatMap((peer) => [peer, `${peer} / ${own}`]),
  ];
  const rows = results.map(({ case: letter, title, unit, subjects }) => [
    letter,
    title,
    unit,
    cell(subjects[floor]),
    cell(subjects[own]),
    ratio(subjects[own], subjects[floor]),
    ...peers.flatMap((peer) => [cell(subjects[peer]), ratio(subjects[peer], subjects[own])]),
  ]);
  const lines = [header, header.map(() => "---"), ...rows];
  const widths = header.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map(
      (line) => `| ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`,
    )
    .join("\n");
}

function cell(summary: Summary | undefined): string {
  if (summary === undefined) return "–";
  const { median, p90, n, variant } = summary;
  const spread = [...(n > 1 ? [`p90 ${short(p90)}`] : []), `n ${n}`, ...(variant ? [variant] : [])];
  return `${short(median)} (${spread.join(", ")})`;
}

function ratio(value: Summary | undefined, base: Summary | undefined): string {
  if (value === undefined || base === undefined || base.median === 0) return "–";
  return (value.median / base.median).toFixed(2);
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
