import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KeptResult, readResults } from "./results.ts";
import { type SuiteName, suites } from "./suites.ts";

type Results = ReadonlyMap<string, KeptResult>;

const reportFile = join(import.meta.dirname, "../../../docs/conformance.md");

/** Specs that pass with the kubelet and fail with Berth. */
export function worseSpecs(suite: SuiteName): readonly string[] {
  const berth = readResults(suite, "berth");
  return [...readResults(suite, "kubelet").values()]
    .filter(({ name, state }) => state === "passed" && berth.get(name)?.state === "failed")
    .map(({ name }) => name);
}

/** Both columns of a suite, then every spec that failed or ended differently, in Markdown. */
export function suiteReport(suite: SuiteName): string {
  const kubelet = readResults(suite, "kubelet");
  const berth = readResults(suite, "berth");
  const names = [...new Set([...kubelet.keys(), ...berth.keys()])].toSorted();
  const differing = names.filter((name) => {
    const states = [kubelet, berth].map((results) => results.get(name)?.state);
    return states.includes("failed") || (!states.includes(undefined) && states[0] !== states[1]);
  });
  const runByBoth = names.filter((name) => kubelet.has(name) && berth.has(name)).length;
  return [
    "| | kubelet | Berth |",
    "|---|---|---|",
    `| run | ${days(kubelet)} | ${days(berth)} |`,
    ...(["passed", "failed", "skipped"] as const).map(
      (state) => `| ${state} | ${count(kubelet, state)} | ${count(berth, state)} |`,
    ),
    "",
    `Run with both: ${runByBoth}; with one of them: ${names.length - runByBoth}.`,
    "",
    ...(differing.length === 0
      ? ["Every spec that was run passed or skipped itself."]
      : ["| failed, or ended differently | kubelet | Berth |", "|---|---|---|"]),
    ...differing.map(
      (name) => `| ${escape(name)} | ${cell(kubelet, name)} | ${cell(berth, name)} |`,
    ),
    ...skipReasons(kubelet, berth),
  ].join("\n");
}

/** What specs said that skipped themselves, with how many said it to either agent. */
function skipReasons(kubelet: Results, berth: Results): readonly string[] {
  const counts = new Map<string, [number, number]>();
  for (const [index, results] of [kubelet, berth].entries()) {
    for (const { state, message } of results.values()) {
      if (state !== "skipped") continue;
      const reason = escape(message.split("\n", 1)[0] ?? "");
      const [ofKubelet, ofBerth] = counts.get(reason) ?? [0, 0];
      counts.set(reason, index === 0 ? [ofKubelet + 1, ofBerth] : [ofKubelet, ofBerth + 1]);
    }
  }
  if (counts.size === 0) return [];
  const rows = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    "",
    "| skipped itself, as it said | kubelet | Berth |",
    "|---|---|---|",
    ...rows.map(([reason, [ofKubelet, ofBerth]]) => `| ${reason} | ${ofKubelet} | ${ofBerth} |`),
  ];
}

/** Writes the report of a suite into docs/conformance.md, between its two marks. */
export function writeReport(suite: SuiteName): void {
  const [start, end] = [`<!-- ${suite} -->`, `<!-- end of ${suite} -->`];
  const text = readFileSync(reportFile, "utf8");
  const [before, rest] = split(text, start);
  const [, after] = split(rest, end);
  const section = `${start}\n### ${suites[suite].title}\n\n${suiteReport(suite)}\n${end}`;
  writeFileSync(reportFile, `${before}${section}${after}`);
}

function split(text: string, mark: string): readonly [string, string] {
  const index = text.indexOf(mark);
  if (index === -1) throw new Error(`docs/conformance.md has no ${mark}`);
  return [text.slice(0, index), text.slice(index + mark.length)];
}

function days(results: Results): string {
  const dates = [...new Set([...results.values()].map(({ date }) => date))].toSorted();
  return dates.length > 1 ? `${dates[0]} to ${dates.at(-1)}` : (dates[0] ?? "never");
}

function count(results: Results, state: KeptResult["state"]): number {
  return [...results.values()].filter((result) => result.state === state).length;
}

function cell(results: Results, name: string): string {
  const result = results.get(name);
  if (result === undefined) return "not run";
  const reason = result.message.split("\n", 1)[0] ?? "";
  return escape(result.state === "passed" ? "passed" : `${result.state}: ${reason}`);
}

function escape(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll(/\s+/g, " ").trim();
}
