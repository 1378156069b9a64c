import { errorText } from "../../src/lib/error-text.ts";
import { type CallDifference, compareCalls } from "./compare-calls.ts";
import { type ExplainedDifference, explainedDifferences } from "./differences.ts";
import type { GoldenWorld } from "./golden-world.ts";
import { type PodCalls, podCalls } from "./pod-calls.ts";
import { recordedFolders } from "./recorded-node.ts";
import { loadRecording, type Recording } from "./recording.ts";
import { runScenario, scenarioNamespace } from "./run-scenario.ts";
import { observedTrace, recordedTrace } from "./trace.ts";

/** One difference, with the pod it is about. */
export interface ScenarioDifference extends CallDifference {
  readonly pod: string;
}

export interface ScenarioReport {
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

const NOTHING: PodCalls = { inOrder: [], removals: [] };

/** Runs scenarios, at most `parallel` at once, and compares them with their recordings. */
export async function runGolden(
  world: GoldenWorld,
  names: readonly string[],
  parallel: number,
): Promise<GoldenReport> {
  const waiting = [...names];
  const problems = new Map<string, string>();
  const runNext = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      try {
        await runScenario(world, loadRecording(name));
      } catch (error) {
        problems.set(name, errorText(error));
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, runNext));
  const berth = podCalls(observedTrace(world.calls), world.folders);
  const matched = new Set<ExplainedDifference>();
  const scenarios = names.map((name) => ({
    ...compareScenario(loadRecording(name), berth, matched),
    problem: problems.get(name),
  }));
  const stale = explainedDifferences.filter(
    (entry) => !matched.has(entry) && (entry.scenario === "*" || names.includes(entry.scenario)),
  );
  return { scenarios, stale };
}

function compareScenario(
  recording: Recording,
  berth: ReadonlyMap<string, PodCalls>,
  matched: Set<ExplainedDifference>,
): ScenarioReport {
  const { scenario } = recording;
  const recorded = podCalls(recordedTrace(recording.cri), recordedFolders);
  const inScenario = (pod: string): boolean => pod.startsWith(`${scenarioNamespace(recording)}/`);
  const pods = new Set([...recorded.keys(), ...berth.keys()].filter(inScenario));
  const unexplained: ScenarioDifference[] = [];
  const explained: ScenarioReport["explained"][number][] = [];
  let comparedCalls = 0;
  for (const key of pods) {
    const pod = key.slice(key.indexOf("/") + 1);
    const left = recorded.get(key) ?? NOTHING;
    comparedCalls += left.inOrder.length + left.removals.length;
    for (const difference of compareCalls(left, berth.get(key) ?? NOTHING)) {
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

function explains(
  entry: ExplainedDifference,
  scenario: string,
  pod: string,
  { path }: CallDifference,
): boolean {
  if (entry.scenario !== "*" && entry.scenario !== scenario) return false;
  if (entry.pod !== "*" && entry.pod !== pod) return false;
  const parts = entry.path.split("*").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(path);
}
