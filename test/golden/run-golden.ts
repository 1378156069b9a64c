import { existsSync } from "node:fs";
import { errorText } from "../../src/lib/error-text.ts";
import type { Log } from "../../src/ports/log.ts";
import { compareHttp } from "./compare-http.ts";
import { compareRegistration } from "./compare-node.ts";
import { type Comparison, compareScenario, type ScenarioDifference } from "./compare-scenario.ts";
import { type ExplainedDifference, explainedDifferences } from "./differences.ts";
import { GoldenWorld } from "./golden-world.ts";
import { loadRecording, type Recording } from "./recording.ts";
import { runRestart, runScenario, type ScenarioRun, withOtherUids } from "./run-scenario.ts";
import { httpScenario, isRestart, registrationScenario, scenariosAlone } from "./scenarios.ts";

interface ScenarioReport {
  readonly scenario: string;
  /** How many of the recorded ones were compared. */
  readonly calls: number;
  readonly requests: number;
  /** Why the scenario could not be run to its end. */
  readonly problem?: string | undefined;
  readonly unexplained: readonly ScenarioDifference[];
  readonly explained: readonly (ScenarioDifference & { readonly because: string })[];
}

export interface GoldenReport {
  readonly scenarios: readonly ScenarioReport[];
  /** Entries of the list that matched nothing though their scenario was run. */
  readonly stale: readonly ExplainedDifference[];
}

export interface GoldenOptions {
  /** How many scenarios share the agent at a time. */
  readonly parallel: number;
  readonly log: Log;
}

// Until the pod that was being deleted has ended.
const RESTART_SECONDS = 45;
const PAIRS = 27;

/** Runs scenarios and compares Berth's calls with the recorded ones. */
export async function runGolden(
  names: readonly string[],
  options: GoldenOptions,
): Promise<GoldenReport> {
  const matched = new Set<ExplainedDifference>();
  const inNetwork = { ...options, network: freeNetwork() };
  const together = names.filter((name) => !scenariosAlone.includes(name));
  // In their order: a node introduces itself first.
  const alone = scenariosAlone.filter((name) => names.includes(name));
  const runs = [
    ...(together.length === 0 ? [] : [runTogether(together, inNetwork, matched)]),
    ...(alone.length === 0 ? [] : [runAlone(alone, inNetwork, matched)]),
  ];
  // Each run removes what it made, also when the other has failed.
  await Promise.allSettled(runs);
  const reports = (await Promise.all(runs)).flat();
  const stale = explainedDifferences.filter(
    (entry) => entry.isRare !== true && !matched.has(entry) && names.includes(entry.scenario),
  );
  return { scenarios: reports, stale };
}

interface NetworkOptions extends GoldenOptions {
  /** Of two that this run has. */
  readonly network: number;
}

/** The first of two unused networks, so that another run may be under way. */
function freeNetwork(): number {
  for (let tried = 0; tried < PAIRS; tried += 1) {
    const network = 200 + 2 * ((process.pid + tried) % PAIRS);
    const isTaken = [network, network + 1].some((each) =>
      existsSync(`/sys/class/net/berth-t${each}`),
    );
    if (!isTaken) return network;
  }
  throw new Error("every test network is taken");
}

/** Several scenarios at a time on one agent, as they were recorded. */
async function runTogether(
  names: readonly string[],
  { parallel, log, network }: NetworkOptions,
  matched: Set<ExplainedDifference>,
): Promise<readonly ScenarioReport[]> {
  const waiting = [...names];
  const reports = new Map<string, ScenarioReport>();
  const world = await GoldenWorld.start(network, log);
  world.api.useRecordedNode();
  const run = async (recording: Recording): Promise<Comparison> =>
    compareScenario(recording, await runScenario(world, recording), world.folders);
  const runNext = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const recording = loadRecording(name);
      reports.set(name, await attempt(name, matched, () => run(recording)));
    }
  };
  try {
    await Promise.all(Array.from({ length: parallel }, runNext));
    // On a machine that was busy something may have come too late: what differs twice is different.
    for (const name of names) {
      if (isGood(reports.get(name))) continue;
      const recording = withOtherUids(loadRecording(name));
      reports.set(name, await attempt(name, matched, () => run(recording)));
    }
  } finally {
    await world.close();
  }
  return names.flatMap((name) => reports.get(name) ?? []);
}

/** One scenario after the other on one agent. */
async function runAlone(
  names: readonly string[],
  { log, network }: NetworkOptions,
  matched: Set<ExplainedDifference>,
): Promise<readonly ScenarioReport[]> {
  const world = await GoldenWorld.start(network + 1, log);
  const reports: ScenarioReport[] = [];
  try {
    for (const name of names) {
      reports.push(await attempt(name, matched, () => compareAlone(world, name, log)));
    }
  } finally {
    await world.close();
  }
  return reports;
}

async function compareAlone(world: GoldenWorld, name: string, log: Log): Promise<Comparison> {
  if (name === registrationScenario) return compareRegistration(world, name);
  world.api.useRecordedNode();
  if (name === httpScenario) return compareHttp(world, log);
  const recording = loadRecording(name);
  const run = isRestart(name) ? runRestarting : runScenario;
  return compareScenario(untilCompared(recording), await run(world, recording), world.folders);
}

function runRestarting(world: GoldenWorld, recording: Recording): Promise<ScenarioRun> {
  return runRestart(world, recording, RESTART_SECONDS);
}

function untilCompared(recording: Recording): Recording {
  if (!isRestart(recording.scenario)) return recording;
  const isEarly = ({ t }: { readonly t: number }): boolean => t < RESTART_SECONDS;
  return { ...recording, cri: recording.cri.filter(isEarly), api: recording.api.filter(isEarly) };
}

function isGood(report: ScenarioReport | undefined): boolean {
  return report?.problem === undefined && report?.unexplained.length === 0;
}

async function attempt(
  scenario: string,
  matched: Set<ExplainedDifference>,
  run: () => Promise<Comparison>,
): Promise<ScenarioReport> {
  try {
    return judge(scenario, await run(), matched);
  } catch (error) {
    return {
      scenario,
      calls: 0,
      requests: 0,
      problem: errorText(error),
      unexplained: [],
      explained: [],
    };
  }
}

function judge(
  scenario: string,
  { calls, requests, differences }: Comparison,
  matched: Set<ExplainedDifference>,
): ScenarioReport {
  const unexplained: ScenarioDifference[] = [];
  const explained: ScenarioReport["explained"][number][] = [];
  for (const difference of differences) {
    const entry = explainedDifferences.find((known) => explains(known, scenario, difference));
    if (entry === undefined) unexplained.push(difference);
    else explained.push({ ...difference, because: entry.because });
    if (entry !== undefined) matched.add(entry);
  }
  return { scenario, calls, requests, unexplained, explained };
}

function explains(
  entry: ExplainedDifference,
  scenario: string,
  { pod, path }: ScenarioDifference,
): boolean {
  if (entry.scenario !== scenario || (entry.pod !== "*" && entry.pod !== pod)) return false;
  const parts = entry.path.split("*").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(path);
}
