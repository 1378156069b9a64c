// Runs parts of Kubernetes' own suites with Berth and with the Go kubelet: npm run conformance -- --help
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorText } from "../../src/lib/error-text.ts";
import type { NodeAgent } from "../cluster/support/cluster-node.ts";
import { runOnNodeMachine } from "../cluster/support/node-machine.ts";
import type { AgentRun } from "./inside.ts";
import { suiteReport, worseSpecs, writeReport } from "./report.ts";
import { keepResults, readResults } from "./results.ts";
import type { SpecResult } from "./run-specs.ts";
import { anyOf, type SuiteName, suites } from "./suites.ts";

const usage = `usage: npm run conformance -- --suite ${Object.keys(suites).join("|")} [--agent berth|kubelet]...
         [--focus REGEX] [--failed] [--at-once N] [--write | --report]

Runs the specs with the kubelet and then with Berth, or with the agents that are named, and prints both columns: of this run
and, for what it did not run, of earlier ones. Exit code 1: a spec passes with the kubelet and fails with Berth.
--focus runs only the specs whose names it finds, of those that have the labels of the suite; --failed only those that failed last time. --at-once is how many
run at the same time (4). --write puts the report into docs/conformance.md, --report prints it without a run.`;

const root = join(import.meta.dirname, "../../..");

try {
  await main();
} catch (error) {
  console.error(`${errorText(error)}\n\n${usage}`);
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      suite: { type: "string", default: "" },
      agent: { type: "string", multiple: true, default: ["kubelet", "berth"] },
      focus: { type: "string", default: "" },
      failed: { type: "boolean", default: false },
      "at-once": { type: "string", default: "4" },
      write: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return;
  }
  const suite = parseSuite(values.suite);
  if (!values.report) {
    for (const agent of values.agent.map(parseAgent)) {
      const focus = values.failed ? failedSpecs(suite, agent) : values.focus;
      const results = await runAgent(agent, suite, focus, Number(values["at-once"]));
      keepResults(suite, agent, results);
    }
  }
  console.log(suiteReport(suite));
  if (values.write) writeReport(suite);
  if (worseSpecs(suite).length > 0) process.exitCode = 1;
}

function parseSuite(text: string): SuiteName {
  if (text in suites) return text as SuiteName;
  throw new Error(`--suite wants one of ${Object.keys(suites).join(", ")}`);
}

function parseAgent(text: string): NodeAgent {
  if (text === "berth" || text === "kubelet") return text;
  throw new Error(`--agent wants berth or kubelet, not ${text}`);
}

/** A focus that finds nothing else. */
function failedSpecs(suite: SuiteName, agent: NodeAgent): string {
  const results = [...readResults(suite, agent).values()];
  const failed = results.filter(({ state }) => state === "failed").map(({ name }) => name);
  if (failed.length === 0) throw new Error(`--failed: nothing of ${suite} failed with ${agent}`);
  return anyOf(failed);
}

async function runAgent(
  agent: NodeAgent,
  suite: SuiteName,
  focus: string,
  processes: number,
): Promise<readonly SpecResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "berth-conformance-"));
  const resultsFile = join(folder, "results.json");
  try {
    const run: AgentRun = {
      agent,
      suite,
      focus: focus === "" ? suites[suite].focus : focus,
      processes,
      resultsFile,
    };
    await runOnNodeMachine((network) => [
      process.execPath,
      join(root, "tools/run.mjs"),
      join(root, "test/conformance/inside.ts"),
      String(network),
      JSON.stringify(run),
    ]);
    return JSON.parse(readFileSync(resultsFile, "utf8")) as readonly SpecResult[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
