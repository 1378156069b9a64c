import type { Pod } from "../../../src/model/generated/kubernetes.ts";
import {
  clusterOf,
  createPods,
  deletePods,
  isRunning,
  podNames,
  podsPath,
  untilSeen,
} from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import type { BenchWorld } from "../bench-world.ts";
import { type BenchCase, recordAgent, recordFloor } from "../case-context.ts";
import { inParallel } from "../floor.ts";
import type { Metric } from "../results.ts";

const patchesAtOnce = 16;

/**
 * (f) An agent that starts among running pods. While it is away their statuses are made wrong in the cluster, so that
 * each one that is right again was read from the runtime, computed and sent.
 */
export const restartCase: BenchCase = {
  needsCluster: true,
  rounds: ({ rounds }) => rounds,
  measureFloor: () => Promise.resolve(),
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const count = sizes.restartPods;
    const metric: Metric = {
      id: `restart-${count}`,
      case: "f",
      title: `agent starts among ${count} pods → all statuses right`,
      unit: "ms",
    };
    const agent = await BenchAgent.create(world, contender);
    await agent.startReady();
    const names = podNames("restart", count);
    await createPods(world, names);
    await agent.stop("SIGKILL");
    const seen = untilSeen(world, (pods) => pods.filter(isWrong).length >= count);
    const patchedMs = performance.now();
    await inParallel(names, patchesAtOnce, (name) => spoil(world, name));
    // As many writes of statuses as the agent will have to make.
    recordFloor(context, metric, (await seen) - patchedMs);
    const right = untilSeen(world, (pods) => pods.filter((pod) => !isWrong(pod)).length >= count);
    const startedMs = performance.now();
    agent.start();
    recordAgent(context, metric, agent, (await right) - startedMs);
    await deletePods(world, names);
    await agent.stop();
  },
};

function isWrong(pod: Pod): boolean {
  return !isRunning(pod);
}

async function spoil(world: BenchWorld, name: string): Promise<void> {
  await clusterOf(world).api.patch(`${podsPath}/${name}/status`, { status: { phase: "Unknown" } });
}
