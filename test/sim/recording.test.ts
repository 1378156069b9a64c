import { expect, test } from "vitest";
import { parseRecording } from "../../src/core/record/recording.ts";
import { findDifference } from "../../src/core/record/replay.ts";
import { disturb } from "./simulator/disturbances.ts";
import { Simulation } from "./simulator/simulation.ts";

const seeds = [1, 2, 3, 4];
const steps = 40;

/** The kinds of decisions that were recorded. */
async function replayedKinds(seed: number): Promise<ReadonlySet<string>> {
  const sim = new Simulation(seed, { inCluster: seed % 2 === 0 });
  sim.startAgent();
  sim.faults.rate = 0.01;
  const kinds = new Set<string>();
  for (let step = 0; step < steps; step += 1) {
    await disturb(sim);
    await sim.advance(3000);
    // It may have been killed just now.
    if (sim.agent === undefined) continue;
    const recording = parseRecording([...sim.agent.view.recording()].join("\n"));
    if (!recording.ok) throw new Error(JSON.stringify(recording.error));
    const { decisions } = recording.value;
    for (const { decision } of decisions) kinds.add(decision.kind);
    expect(findDifference(decisions)).toBeUndefined();
  }
  return kinds;
}

test("whatever is decided is decided the same again from its recording, at any time", async () => {
  const kinds = new Set<string>();
  for (const seed of seeds) for (const kind of await replayedKinds(seed)) kinds.add(kind);
  expect([...kinds].toSorted()).toEqual(["plan", "removal", "status", "termination"]);
});
