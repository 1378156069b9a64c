import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { ChaosRun } from "./chaos/chaos-run.ts";
import { differencesLeft } from "./chaos/machine-audit.ts";
import { AgentWorld } from "./support/agent-world.ts";

const seconds = Number(process.env["BERTH_CHAOS_SECONDS"] ?? 30);
const seed = Number(process.env["BERTH_CHAOS_SEED"] ?? Date.now() % 1_000_000);
const calmMs = 180_000;

describe("a machine whose manifests change while the agent and containerd are killed", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(8);
  });
  afterAll(() => world.close());

  test(`equals its manifests as soon as there is calm; nothing is doubled and nothing is left (seed ${seed})`, {
    retry: 0,
    timeout: (seconds + 30) * 1000 + 2 * calmMs,
  }, async () => {
    const chaos = new ChaosRun(world, seed);
    onTestFailed(() => {
      const folder = mkdtempSync(join(tmpdir(), `berth-chaos-${seed}-`));
      copyFileSync(
        join(world.dataDir, "containerd/containerd.log"),
        join(folder, "containerd.log"),
      );
      writeFileSync(
        join(folder, "agents.log"),
        [...chaos.lastWords, world.agent.stderr].join("\n"),
      );
      writeFileSync(join(folder, "history"), chaos.history.join("\n"));
      console.error(`BERTH_CHAOS_SEED=${seed} BERTH_CHAOS_SECONDS=${seconds}: see ${folder}`);
    });
    try {
      await chaos.rage(seconds * 1000);
      const wanted = [...chaos.wanted.values()];
      const inCalm = await differencesLeft(world, wanted, calmMs);
      chaos.removeAll();
      const inTheEnd = await differencesLeft(world, [], calmMs);
      const nothing = { inCalm: [], inTheEnd: [], doubled: [] };
      expect({ inCalm, inTheEnd, doubled: chaos.doubled }).toEqual(nothing);
    } finally {
      await chaos.close();
    }
  });
});
