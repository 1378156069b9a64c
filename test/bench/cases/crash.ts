import { setTimeout as delay } from "node:timers/promises";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import { prepareBarePod } from "../bare-configs.ts";
import { BenchAgent } from "../bench-agent.ts";
import { benchNode } from "../bench-settings.ts";
import type { BenchWorld } from "../bench-world.ts";
import { type BenchCase, recordAgent, recordFloor } from "../case-context.ts";
import { removeBarePod, startBareContainer, startBarePod } from "../floor.ts";
import { endPods, startPods } from "../idle-pods.ts";
import type { Metric } from "../results.ts";

const created: Metric = {
  id: "crash-created",
  case: "c",
  title: "container's exit → next one created",
  unit: "ms",
};
const running: Metric = {
  id: "crash-running",
  case: "c",
  title: "container's exit → next one running",
  unit: "ms",
};
/** How long a container lives before it ends: earlier, its shell may not handle signals yet. */
const lifeMs = 500;
const callTimeoutMs = 30_000;
const nameLabel = "io.kubernetes.pod.name";

/**
 * (c) A container that ends by itself runs again; its first restart waits for nothing. Times begin and end at the
 * runtime's events: what an agent takes until it calls is what it takes longer than the bare client, which calls at once.
 */
export const crashCase: BenchCase = {
  needsCluster: false,
  rounds: ({ rounds }) => rounds,
  measureFloor: async (context) => {
    const { world, sizes } = context;
    for (let index = 0; index < sizes.samples; index += 1) {
      const pod = await startBarePod(world, await prepareBarePod(world, `bare-${index}`));
      await delay(lifeMs);
      const since = world.watch.mark();
      const crashing = crash(world, pod.containerId);
      const exitMs = await world.watch.until("stopped", 1, since);
      await startBareContainer(world, pod, 1);
      recordFloor(context, created, (await world.watch.until("created", 1, since)) - exitMs);
      recordFloor(context, running, (await world.watch.until("started", 1, since)) - exitMs);
      await crashing;
      await world.runtime.stopPodSandbox(pod.sandboxId, AbortSignal.timeout(callTimeoutMs));
      await removeBarePod(world, pod);
    }
  },
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const agent = await BenchAgent.create(world, contender);
    await agent.startReady();
    for (let index = 0; index < sizes.samples; index += 1) {
      const name = `crash-${index}`;
      await startPods(world, agent, [name]);
      await delay(lifeMs);
      const since = world.watch.mark();
      const crashing = crash(world, await containerOf(world, name));
      const exitMs = await world.watch.until("stopped", 1, since);
      const createdMs = await world.watch.until("created", 1, since);
      recordAgent(context, created, agent, createdMs - exitMs);
      const runningMs = await world.watch.until("started", 1, since);
      recordAgent(context, running, agent, runningMs - exitMs);
      await crashing;
      await endPods(world, agent, [name]);
      await delay(lifeMs);
    }
    await agent.stop();
  },
};

/** Its shell takes this signal and is gone. */
async function crash({ runtime }: BenchWorld, containerId: string): Promise<void> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  // The container ends under the command's feet: how that ends says nothing.
  await runtime
    .execSync(runtimeContainerId(containerId), ["kill", "-TERM", "1"], 10, signal)
    .catch(() => undefined);
}

async function containerOf({ runtime, cluster }: BenchWorld, name: string): Promise<string> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  const podName = cluster === undefined ? `${name}-${benchNode}` : name;
  const filter = { labelSelector: { [nameLabel]: podName } };
  const [container] = await runtime.listContainers(filter, signal);
  if (container?.id === undefined) throw new Error(`pod ${name} has no container`);
  return container.id;
}
