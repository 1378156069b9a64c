import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { NodeAgent } from "../cluster/support/cluster-node.ts";
import type { SpecResult } from "./run-specs.ts";
import type { SuiteName } from "./suites.ts";

/** The newest result of a spec. */
export interface KeptResult extends SpecResult {
  /** The day it was run. */
  readonly date: string;
}

const folder = join(homedir(), ".cache", "berth", "conformance");

/** The results so far, of this and of earlier runs, by the name of the spec. */
export function readResults(suite: SuiteName, agent: NodeAgent): ReadonlyMap<string, KeptResult> {
  try {
    const text = readFileSync(resultsFile(suite, agent), "utf8");
    const results = JSON.parse(text) as readonly KeptResult[];
    return new Map(results.map((result) => [result.name, result]));
  } catch {
    return new Map();
  }
}

/** Puts new results in the place of those of the same specs. */
export function keepResults(
  suite: SuiteName,
  agent: NodeAgent,
  results: readonly SpecResult[],
): void {
  const date = new Date().toISOString().slice(0, 10);
  const all = new Map(readResults(suite, agent));
  for (const result of results) all.set(result.name, { ...result, date });
  mkdirSync(folder, { recursive: true });
  writeFileSync(resultsFile(suite, agent), JSON.stringify([...all.values()], null, 1));
}

function resultsFile(suite: SuiteName, agent: NodeAgent): string {
  return join(folder, `${suite}-${agent}.json`);
}
