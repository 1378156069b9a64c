import { createPods, deletePods, podNames } from "../api-pods.ts";
import { prepareBarePod } from "../bare-configs.ts";
import { BenchAgent } from "../bench-agent.ts";
import { sweep } from "../bench-world.ts";
import { type BenchCase, type CaseContext, recordAgent, recordFloor } from "../case-context.ts";
import { inParallel, startBarePod, stopBarePod } from "../floor.ts";
import type { Metric } from "../results.ts";
import { untilAtRest } from "../runtime-rest.ts";

interface BurstMetrics {
  readonly filesUp: Metric;
  readonly filesDown: Metric;
  readonly apiUp: Metric;
  readonly apiSeen: Metric;
  readonly apiDown: Metric;
  readonly apiGone: Metric;
}

/** (d) Many pods at once, from manifests and from the API server. */
export const burstCase: BenchCase = {
  needsCluster: false,
  rounds: ({ rounds }) => rounds,
  measureFloor: async (context) => {
    for (const count of context.sizes.bursts) {
      for (const atOnce of context.sizes.floorConcurrency) {
        await measureBareBurst(context, count, atOnce);
        await sweep(context.world);
      }
    }
  },
  measure: async (context, contender) => {
    const agent = await BenchAgent.create(context.world, contender);
    await agent.startReady();
    for (const count of context.sizes.bursts) {
      await measureFiles(context, agent, count);
      await untilAtRest(context.world.endpoint);
      if (context.world.cluster === undefined) continue;
      await measureApi(context, agent, count);
      await untilAtRest(context.world.endpoint);
    }
    await agent.stop();
  },
};

async function measureBareBurst(
  context: CaseContext,
  count: number,
  atOnce: number,
): Promise<void> {
  const { world } = context;
  const metrics = burstMetrics(count);
  const prepared = await inParallel(podNames("bare", count), 1, (name) =>
    prepareBarePod(world, name),
  );
  const upSince = world.watch.mark();
  const upSentMs = performance.now();
  const pods = await inParallel(prepared, atOnce, (pod) => startBarePod(world, pod));
  const upMs = (await world.watch.until("started", 2 * count, upSince)) - upSentMs;
  await untilAtRest(world.endpoint);
  const downSince = world.watch.mark();
  const downSentMs = performance.now();
  await inParallel(pods, atOnce, (pod) => stopBarePod(world, pod));
  const downMs = (await world.watch.until("stopped", 2 * count, downSince)) - downSentMs;
  const way = `${atOnce} at once`;
  const { filesUp, filesDown, apiUp, apiSeen, apiDown, apiGone } = metrics;
  const ups = world.cluster === undefined ? [filesUp] : [filesUp, apiUp, apiSeen];
  const downs = world.cluster === undefined ? [filesDown] : [filesDown, apiDown, apiGone];
  for (const metric of ups) recordFloor(context, metric, upMs, way);
  for (const metric of downs) recordFloor(context, metric, downMs, way);
}

async function measureFiles(context: CaseContext, agent: BenchAgent, count: number): Promise<void> {
  const { world } = context;
  const { filesUp, filesDown } = burstMetrics(count);
  const names = podNames("burst", count);
  const up = { since: world.watch.mark(), sentMs: performance.now() };
  for (const name of names) agent.putManifest(name);
  const upMs = await world.watch.until("started", 2 * count, up.since);
  await untilAtRest(world.endpoint);
  const down = { since: world.watch.mark(), sentMs: performance.now() };
  for (const name of names) agent.removeManifest(name);
  const downMs = await world.watch.until("stopped", 2 * count, down.since);
  recordAgent(context, filesUp, agent, upMs - up.sentMs);
  recordAgent(context, filesDown, agent, downMs - down.sentMs);
}

async function measureApi(context: CaseContext, agent: BenchAgent, count: number): Promise<void> {
  const { world } = context;
  const { apiUp, apiSeen, apiDown, apiGone } = burstMetrics(count);
  const names = podNames("burst", count);
  const upSince = world.watch.mark();
  const up = await createPods(world, names);
  const upMs = await world.watch.until("started", 2 * count, upSince);
  await untilAtRest(world.endpoint);
  const downSince = world.watch.mark();
  const down = await deletePods(world, names);
  const downMs = await world.watch.until("stopped", 2 * count, downSince);
  recordAgent(context, apiUp, agent, upMs - up.sentMs);
  recordAgent(context, apiSeen, agent, up.seenMs - up.sentMs);
  recordAgent(context, apiDown, agent, downMs - down.sentMs);
  recordAgent(context, apiGone, agent, down.seenMs - down.sentMs);
}

function burstMetrics(count: number): BurstMetrics {
  const metric = (id: string, title: string): Metric => ({
    id: `burst-${count}-${id}`,
    case: "d",
    title: `${count} ${title}`,
    unit: "ms",
  });
  return {
    filesUp: metric("manifests-running", "manifests → all running"),
    filesDown: metric("manifests-gone", "manifests removed → all stopped"),
    apiUp: metric("api-running", "by API → all running"),
    apiSeen: metric("api-running-seen", "by API → all Running seen"),
    apiDown: metric("api-stopped", "API deletes → all stopped"),
    apiGone: metric("api-gone-seen", "API deletes → all gone seen"),
  };
}
