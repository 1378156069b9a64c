import { errorText } from "../../src/lib/error-text.ts";
import type { Log } from "../../src/ports/log.ts";
import { type CallDifference, compareCalls } from "./compare-calls.ts";
import { type ExplainedDifference, explainedDifferences } from "./differences.ts";
import { GoldenWorld } from "./golden-world.ts";
import { type Hooks, type PodCalls, podCalls } from "./pod-calls.ts";
import { recordedFolders } from "./recorded-node.ts";
import { loadRecording, type Recording } from "./recording.ts";
import { runRestart, runScenario, scenarioNamespace } from "./run-scenario.ts";
import { restartScenario, scenariosAlone } from "./scenarios.ts";
import { recordedTrace, type TracedCall } from "./trace.ts";

/** One difference, with the pod it is about. */
interface ScenarioDifference extends CallDifference {
  readonly pod: string;
}

interface ScenarioReport {
  readonly scenario: string;
  readonly comparedCalls: number;
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
// Two networks of this process alone, so that another run may be under way.
const NETWORK = 200 + 2 * (process.pid % 27);
const NOTHING: PodCalls = { inOrder: [], removals: [] };

/** Runs scenarios and compares Berth's calls with the recorded ones. */
export async function runGolden(
  names: readonly string[],
  options: GoldenOptions,
): Promise<GoldenReport> {
  const matched = new Set<ExplainedDifference>();
  const together = names.filter((name) => !scenariosAlone.includes(name));
  const alone = names.filter((name) => scenariosAlone.includes(name));
  const runs = [
    ...(together.length === 0 ? [] : [runTogether(together, options, matched)]),
    ...(alone.length === 0 ? [] : [runAlone(alone, options, matched)]),
  ];
  // Each run removes what it made, also when the other has failed.
  await Promise.allSettled(runs);
  const reports = (await Promise.all(runs)).flat();
  const stale = explainedDifferences.filter(
    (entry) => !matched.has(entry) && names.includes(entry.scenario),
  );
  return { scenarios: reports, stale };
}

/** Several scenarios at a time on one agent, as they were recorded. */
async function runTogether(
  names: readonly string[],
  { parallel, log }: GoldenOptions,
  matched: Set<ExplainedDifference>,
): Promise<readonly ScenarioReport[]> {
  const waiting = [...names];
  const reports = new Map<string, ScenarioReport>();
  const world = await GoldenWorld.start(NETWORK, log);
  const runNext = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const recording = loadRecording(name);
      const report = await attempt(recording, matched, async () =>
        podCalls(await runScenario(world, recording), world.folders, preStopHooks(recording)),
      );
      reports.set(name, report);
    }
  };
  try {
    await Promise.all(Array.from({ length: parallel }, runNext));
  } finally {
    await world.close();
  }
  return names.flatMap((name) => reports.get(name) ?? []);
}

/** One scenario after the other on one agent. */
async function runAlone(
  names: readonly string[],
  { log }: GoldenOptions,
  matched: Set<ExplainedDifference>,
): Promise<readonly ScenarioReport[]> {
  const world = await GoldenWorld.start(NETWORK + 1, log);
  const reports: ScenarioReport[] = [];
  try {
    for (const name of names) {
      const recording = loadRecording(name);
      const run = name === restartScenario ? runRestarting : runScenario;
      const report = await attempt(untilCompared(recording), matched, async () =>
        podCalls(await run(world, recording), world.folders, preStopHooks(recording)),
      );
      reports.push(report);
    }
  } finally {
    await world.close();
  }
  return reports;
}

function runRestarting(world: GoldenWorld, recording: Recording): Promise<readonly TracedCall[]> {
  return runRestart(world, recording, RESTART_SECONDS);
}

function untilCompared(recording: Recording): Recording {
  if (recording.scenario !== restartScenario) return recording;
  return { ...recording, cri: recording.cri.filter(({ t }) => t < RESTART_SECONDS) };
}

async function attempt(
  recording: Recording,
  matched: Set<ExplainedDifference>,
  run: () => Promise<ReadonlyMap<string, PodCalls>>,
): Promise<ScenarioReport> {
  try {
    return compareScenario(recording, await run(), matched);
  } catch (error) {
    const { scenario } = recording;
    return {
      scenario,
      comparedCalls: 0,
      problem: errorText(error),
      unexplained: [],
      explained: [],
    };
  }
}

function compareScenario(
  recording: Recording,
  berth: ReadonlyMap<string, PodCalls>,
  matched: Set<ExplainedDifference>,
): ScenarioReport {
  const { scenario } = recording;
  const recorded = podCalls(recordedTrace(recording.cri), recordedFolders, preStopHooks(recording));
  const inScenario = (pod: string): boolean => pod.startsWith(`${scenarioNamespace(recording)}/`);
  const pods = new Set([...recorded.keys(), ...berth.keys()].filter(inScenario));
  const unexplained: ScenarioDifference[] = [];
  const explained: ScenarioReport["explained"][number][] = [];
  let comparedCalls = 0;
  for (const key of pods) {
    const pod = key.slice(key.indexOf("/") + 1);
    const left = recorded.get(key) ?? NOTHING;
    comparedCalls += left.inOrder.length + left.removals.length;
    const right = berth.get(key) ?? NOTHING;
    for (const difference of compareCalls(left, right, {
      removals: scenario !== restartScenario,
    })) {
      const entry = explainedDifferences.find((known) =>
        explains(known, scenario, pod, difference),
      );
      if (entry === undefined) unexplained.push({ ...difference, pod });
      else explained.push({ ...difference, pod, because: entry.because });
      if (entry !== undefined) matched.add(entry);
    }
  }
  return { scenario, comparedCalls, unexplained, explained };
}

function preStopHooks({ manifests }: Recording): Hooks {
  const containers = manifests.flatMap((manifest) =>
    manifest.kind === "Pod"
      ? [...manifest.spec.containers, ...(manifest.spec.initContainers ?? [])]
      : [],
  );
  const commands = containers.map(({ lifecycle }) => lifecycle?.preStop?.exec?.command);
  return new Set(commands.map((command) => JSON.stringify(command ?? [])));
}

function explains(
  entry: ExplainedDifference,
  scenario: string,
  pod: string,
  { path }: CallDifference,
): boolean {
  if (entry.scenario !== scenario || (entry.pod !== "*" && entry.pod !== pod)) return false;
  const parts = entry.path.split("*").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(path);
}
