import { setTimeout as delay } from "node:timers/promises";
import { createPods, deletePods } from "../api-pods.ts";
import { prepareBarePod } from "../bare-configs.ts";
import { BenchAgent } from "../bench-agent.ts";
import { type BenchCase, type CaseContext, recordAgent, recordFloor } from "../case-context.ts";
import { removeBarePod, startBarePod, stopBarePod } from "../floor.ts";
import type { Metric } from "../results.ts";

const manifestUp: Metric = {
  id: "manifest-running",
  case: "a",
  title: "manifest dropped → container running",
  unit: "ms",
};
const manifestDown: Metric = {
  id: "manifest-gone",
  case: "a",
  title: "manifest removed → pod stopped",
  unit: "ms",
};
const apiUp: Metric = {
  id: "api-running",
  case: "b",
  title: "API create → container running",
  unit: "ms",
};
const apiSeen: Metric = {
  id: "api-running-seen",
  case: "b",
  title: "API create → Running seen",
  unit: "ms",
};
const apiDown: Metric = {
  id: "api-stopped",
  case: "b",
  title: "API delete → pod stopped",
  unit: "ms",
};
const apiGone: Metric = {
  id: "api-gone-seen",
  case: "b",
  title: "API delete → gone seen",
  unit: "ms",
};

/** How long a pod lives at least: earlier, its shell may not handle signals yet, and its end would take the grace period. */
const lifeMs = 500;
/** What a pod leaves is removed by some agents at once and by others much later: the next pod is not to pay for it. */
const restMs = 1_500;

/** (a) One pod at a time from a manifest. */
export const manifestCase: BenchCase = {
  needsCluster: false,
  rounds: ({ rounds }) => rounds,
  measureFloor: (context) => measureBarePods(context, [manifestUp], [manifestDown]),
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const agent = await BenchAgent.create(world, contender);
    await agent.startReady();
    for (let index = 0; index <= sizes.samples; index += 1) {
      const name = `single-${index}`;
      const up = { since: world.watch.mark(), sentMs: performance.now() };
      agent.putManifest(name);
      const upMs = await world.watch.until("started", 2, up.since);
      await delay(lifeMs);
      const down = { since: world.watch.mark(), sentMs: performance.now() };
      agent.removeManifest(name);
      const downMs = await world.watch.until("stopped", 2, down.since);
      await delay(restMs);
      // The first one warms everything up.
      if (index === 0) continue;
      recordAgent(context, manifestUp, agent, upMs - up.sentMs);
      recordAgent(context, manifestDown, agent, downMs - down.sentMs);
    }
    await agent.stop();
  },
};

/** (b) One pod at a time from the API server. */
export const apiCase: BenchCase = {
  needsCluster: true,
  rounds: ({ rounds }) => rounds,
  measureFloor: (context) => measureBarePods(context, [apiUp, apiSeen], [apiDown, apiGone]),
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const agent = await BenchAgent.create(world, contender);
    await agent.startReady();
    for (let index = 0; index <= sizes.samples; index += 1) {
      const names = [`single-${index}`];
      const upSince = world.watch.mark();
      const up = await createPods(world, names);
      const upMs = await world.watch.until("started", 2, upSince);
      await delay(lifeMs);
      const downSince = world.watch.mark();
      const down = await deletePods(world, names);
      const downMs = await world.watch.until("stopped", 2, downSince);
      await delay(restMs);
      if (index === 0) continue;
      recordAgent(context, apiUp, agent, upMs - up.sentMs);
      recordAgent(context, apiSeen, agent, up.seenMs - up.sentMs);
      recordAgent(context, apiDown, agent, downMs - down.sentMs);
      recordAgent(context, apiGone, agent, down.seenMs - down.sentMs);
    }
    await agent.stop();
  },
};

async function measureBarePods(
  context: CaseContext,
  ups: readonly Metric[],
  downs: readonly Metric[],
): Promise<void> {
  const { world, sizes } = context;
  for (let index = 0; index <= sizes.samples; index += 1) {
    const prepared = await prepareBarePod(world, `bare-${index}`);
    const upSince = world.watch.mark();
    const upSentMs = performance.now();
    const pod = await startBarePod(world, prepared);
    const upMs = (await world.watch.until("started", 2, upSince)) - upSentMs;
    await delay(lifeMs);
    const downSince = world.watch.mark();
    const downSentMs = performance.now();
    await stopBarePod(world, pod);
    const downMs = (await world.watch.until("stopped", 2, downSince)) - downSentMs;
    await removeBarePod(world, pod);
    await delay(restMs);
    if (index === 0) continue;
    for (const metric of ups) recordFloor(context, metric, upMs);
    for (const metric of downs) recordFloor(context, metric, downMs);
  }
}
