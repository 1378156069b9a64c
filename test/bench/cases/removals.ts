import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { podNames } from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import { type BenchCase, type CaseContext, recordAgent } from "../case-context.ts";
import { forgetPeakMemory, readPeakMib, readProcessUsage } from "../process-usage.ts";
import type { Metric } from "../results.ts";
import { untilAtRest } from "../runtime-rest.ts";

/** How long after the last container has ended the agent should have nothing to do. */
const restAfterMs = 5_000;
const windowMs = 5_000;
const pollMs = 100;
/** Bridges have no addresses for so many pods. */
const spec = { hostNetwork: true };

/** (i) Many static pods whose manifests go at once: what that costs the agent. */
export const removalCase: BenchCase = {
  needsCluster: false,
  rounds: () => 1,
  // Without an agent there is no process to measure.
  measureFloor: () => Promise.resolve(),
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const agent = await BenchAgent.create(world, contender);
    await agent.startReady();
    await measureRemoval(context, agent, sizes.removedPods);
    await agent.stop();
  },
};

async function measureRemoval(
  context: CaseContext,
  agent: BenchAgent,
  count: number,
): Promise<void> {
  const { world } = context;
  const names = podNames("removed", count);
  const idle = readProcessUsage(agent.pid);
  const upSince = world.watch.mark();
  for (const name of names) agent.putManifest(name, spec);
  await world.watch.until("started", 2 * count, upSince);
  await untilAtRest(world.endpoint);
  await delay(restAfterMs);
  const before = readProcessUsage(agent.pid);
  forgetPeakMemory(agent.pid);
  const downSince = world.watch.mark();
  for (const name of names) agent.removeManifest(name);
  await world.watch.until("stopped", 2 * count, downSince);
  await delay(restAfterMs);
  const atRest = readProcessUsage(agent.pid);
  await delay(windowMs);
  const windowSeconds = readProcessUsage(agent.pid).cpuSeconds - atRest.cpuSeconds;
  await untilNoPodIsLeft(agent);
  const after = readProcessUsage(agent.pid);
  const startMs = ((before.cpuSeconds - idle.cpuSeconds) * 1000) / count;
  const removalMs = ((after.cpuSeconds - before.cpuSeconds) * 1000) / count;
  const peakMib = readPeakMib(agent.pid);
  const record = (id: string, title: string, unit: Metric["unit"], value: number): void =>
    recordAgent(context, metric(count, id, title, unit), agent, value);
  record("start-cpu", "CPU to start one", "ms", startMs);
  record("cpu", "CPU to remove one", "ms", removalMs);
  record("cpu-ratio", "CPU to remove one, of that to start it", "%", percent(removalMs, startMs));
  record("before", "RSS before", "MiB", before.rssMib);
  record("peak", "largest RSS", "MiB", peakMib);
  record("peak-ratio", "largest RSS, of that before", "%", percent(peakMib, before.rssMib));
  record("after", "RSS after", "MiB", after.rssMib);
  const restPercent = percent(windowSeconds * 1000, windowMs);
  record("rest", "CPU 5 s after the last container ended", "%", restPercent);
}

async function untilNoPodIsLeft({ rootDir }: BenchAgent): Promise<void> {
  const timeout = AbortSignal.timeout(600_000);
  while (readdirSync(join(rootDir, "pods")).length > 0) {
    timeout.throwIfAborted();
    await delay(pollMs);
  }
}

function percent(part: number, whole: number): number {
  return (100 * part) / whole;
}

function metric(count: number, id: string, title: string, unit: Metric["unit"]): Metric {
  const all = `${count} pods removed at once: ${title}`;
  return { id: `removals-${count}-${id}`, case: "i", title: all, unit };
}
