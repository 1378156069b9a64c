// Runs the storage specs of Kubernetes' own e2e suite with Berth and with the Go kubelet: npm run e2e -- --help
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { errorText } from "../../src/lib/error-text.ts";
import type { NodeAgent } from "../cluster/support/cluster-node.ts";
import { ClusterWorld } from "../cluster/support/cluster-world.ts";
import { provideImages } from "./e2e-images.ts";
import { runGroup, type SpecResult } from "./run-group.ts";
import { type SpecGroup, specGroups, unavailable } from "./spec-groups.ts";
import { type AgentResults, resultsTable, worseSpecs } from "./spec-table.ts";

const usage = `usage: npm run e2e -- [--agent berth|kubelet]... [--group TEXT]... [--at-once N] [--json FILE]

Both agents are run, one after the other, unless --agent names one. --group: only groups whose name has this in it.
Needs e2e.test and agnhost: node tools/cluster/main.mjs e2e. Exit code 1: a spec passes with the kubelet and fails with Berth.`;

/** As shells have it for SIGINT. */
const interruptedCode = 130;

await main();

async function main(): Promise<void> {
  try {
    const { values } = parseArgs({
      options: {
        agent: { type: "string", multiple: true, default: ["kubelet", "berth"] },
        group: { type: "string", multiple: true, default: [""] },
        "at-once": { type: "string", default: "2" },
        json: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) console.log(usage);
    else await run(values.agent.map(parseAgent), values.group, values);
  } catch (error) {
    console.error(`${errorText(error)}\n\n${usage}`);
    process.exitCode = 2;
  }
}

function parseAgent(text: string): NodeAgent {
  if (text === "berth" || text === "kubelet") return text;
  throw new Error(`--agent wants berth or kubelet, not ${text}`);
}

async function run(
  agents: readonly NodeAgent[],
  wanted: readonly string[],
  { "at-once": atOnce, json }: { readonly "at-once": string; readonly json?: string | undefined },
): Promise<void> {
  const groups = specGroups.filter(({ name }) => wanted.some((text) => name.includes(text)));
  if (groups.length === 0) throw new Error(`--group: there is no group ${wanted.join(", ")}`);
  const results = new Map<string, AgentResults>();
  for (const agent of agents) {
    await runAgent(agent, groups, Number(atOnce), (group, found) => {
      results.set(agent, { ...results.get(agent), [group]: found });
      note(`${agent}: ${group}: ${countStates(found)}`);
      // After each, as a run takes hours.
      if (json !== undefined) writeFileSync(json, `${toJson(results)}\n`);
    });
  }
  console.log(resultsTable(results));
  console.log("\nNot run:");
  for (const [specs, reason] of unavailable) console.log(`- ${specs}: ${reason}.`);
  if (worseSpecs(results).length > 0) process.exitCode = 1;
}

function toJson(results: ReadonlyMap<string, AgentResults>): string {
  return JSON.stringify(Object.fromEntries(results), null, 1);
}

async function runAgent(
  agent: NodeAgent,
  groups: readonly SpecGroup[],
  atOnce: number,
  onResults: (group: string, results: readonly SpecResult[]) => void,
): Promise<void> {
  const world = await ClusterWorld.start(agent);
  closeOnSignal(world);
  try {
    await provideImages(world.runtime);
    const waiting = [...groups.entries()];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, group] = next;
        onResults(group.name, await runGroup(world, group, index));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  } finally {
    await world.close();
  }
}

/** Nothing stays on the machine after a signal; the programs end with this process. */
function closeOnSignal(world: ClusterWorld): void {
  const close = (): void => void world.close().finally(() => process.exit(interruptedCode));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, close);
}

function countStates(results: readonly SpecResult[]): string {
  const count = (state: SpecResult["state"]): number =>
    results.filter((result) => result.state === state).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`;
}

function note(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
