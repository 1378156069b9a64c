import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { podNames } from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import { type BenchCase, type CaseContext, recordAgent, recordFloor } from "../case-context.ts";
import { endPods, startPods } from "../idle-pods.ts";
import { readProcessUsage } from "../process-usage.ts";
import type { Metric } from "../results.ts";
import { RuntimeProxy } from "../runtime-proxy.ts";

/** Until what a start leaves to do is done. */
const settleMs = 10_000;

/** (e) What an agent holds and does while nothing happens. The window is the measurement itself, not a wait. */
export const idleCase: BenchCase = {
  needsCluster: false,
  rounds: () => 1,
  // Below this no agent on this platform can come: Node that waits.
  measureFloor: async (context) => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    await delay(1_000);
    const usage = readProcessUsage(child.pid ?? 0);
    child.kill("SIGKILL");
    for (const count of context.sizes.idlePods) {
      recordFloor(context, metric(count, "rss", "RSS", "MiB"), usage.rssMib);
      recordFloor(context, metric(count, "pss", "PSS", "MiB"), usage.pssMib);
      recordFloor(
        context,
        metric(count, "anonymous", "anonymous memory", "MiB"),
        usage.anonymousMib,
      );
    }
  },
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const proxy = await RuntimeProxy.start(join(world.folder, "runtime.sock"), world.endpoint);
    const agent = await BenchAgent.create(world, contender, proxy.endpoint);
    await agent.startReady();
    let names: readonly string[] = [];
    for (const count of sizes.idlePods) {
      const more = podNames("idle", count).slice(names.length);
      await startPods(world, agent, more);
      names = [...names, ...more];
      await delay(Math.min(settleMs, sizes.idleSeconds * 500));
      await measureIdle(context, agent, proxy, count);
    }
    await endPods(world, agent, names);
    await agent.stop();
    await proxy.close();
  },
};

async function measureIdle(
  context: CaseContext,
  agent: BenchAgent,
  proxy: RuntimeProxy,
  count: number,
): Promise<void> {
  const before = { ...readProcessUsage(agent.pid), calls: proxy.calls };
  const beganMs = performance.now();
  await delay(context.sizes.idleSeconds * 1000);
  const minutes = (performance.now() - beganMs) / 60_000;
  const after = { ...readProcessUsage(agent.pid), calls: proxy.calls };
  const methods = proxy.methodsSince(before.calls);
  console.error(`${agent.name} with ${count} idle pods called ${JSON.stringify(methods)}`);
  const record = (which: Metric, value: number): void => recordAgent(context, which, agent, value);
  record(metric(count, "rss", "RSS", "MiB"), after.rssMib);
  record(metric(count, "pss", "PSS", "MiB"), after.pssMib);
  record(metric(count, "anonymous", "anonymous memory", "MiB"), after.anonymousMib);
  record(metric(count, "cpu", "CPU", "s/min"), (after.cpuSeconds - before.cpuSeconds) / minutes);
  record(metric(count, "calls", "CRI calls", "/min"), (after.calls - before.calls) / minutes);
  record(metric(count, "wake-ups", "wake-ups", "/min"), (after.wakeUps - before.wakeUps) / minutes);
}

function metric(count: number, id: string, title: string, unit: Metric["unit"]): Metric {
  return { id: `idle-${count}-${id}`, case: "e", title: `${count} idle pods: ${title}`, unit };
}
