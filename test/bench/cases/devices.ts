import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import { DevicePlugin } from "../../integration/support/device-plugin.ts";
import { podNames } from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import { type BenchCase, type CaseContext, recordAgent } from "../case-context.ts";
import type { Metric } from "../results.ts";
import { untilAtRest } from "../runtime-rest.ts";

const resource = "example.com/device";
const containersPerPod = 5;
const timeoutMs = 300_000;
const pollMs = 5;

/** (k) Containers with a device each, whose pods come at once: until the plugin was asked for the first and for the last. */
export const deviceCase: BenchCase = {
  needsCluster: false,
  rounds: ({ rounds }) => rounds,
  // Without an agent there are no devices to hand out.
  measureFloor: () => Promise.resolve(),
  measure: async (context, contender) => {
    const agent = await BenchAgent.create(context.world, contender);
    await agent.startReady();
    const { deviceContainers: count } = context.sizes;
    const folder = join(agent.rootDir, "device-plugins");
    const ids = Array.from({ length: count }, (_, index) => `device-${index}`);
    const plugin = await DevicePlugin.start({ folder, resource, devices: ids });
    try {
      await untilKnown(join(folder, "kubelet_internal_checkpoint"), ids);
      await measureAllocations(context, agent, plugin);
    } finally {
      await plugin[Symbol.asyncDispose]();
      // Their start would take minutes, and is not what is measured.
      await agent.stop("SIGKILL");
      await untilAtRest(context.world.endpoint);
    }
  },
};

async function measureAllocations(
  context: CaseContext,
  agent: BenchAgent,
  plugin: DevicePlugin,
): Promise<void> {
  const { deviceContainers: count } = context.sizes;
  const names = podNames("device", Math.ceil(count / containersPerPod));
  const containers = Array.from({ length: containersPerPod }, (_, index) =>
    shell(`main-${index}`, untilStopped, { resources: { limits: { [resource]: "1" } } }),
  );
  const sentMs = performance.now();
  names.forEach((name, index) => {
    const left = count - index * containersPerPod;
    agent.putManifest(name, { hostNetwork: true, containers: containers.slice(0, left) });
  });
  await until(() => plugin.allocations.length > 0);
  const firstMs = performance.now();
  await until(() => plugin.allocations.length >= count);
  const lastMs = performance.now();
  const title = `${count} containers with a device each, in pods of ${containersPerPod}`;
  const first = metric("first", `${title}: manifests dropped → first Allocate`);
  recordAgent(context, first, agent, firstMs - sentMs);
  const all = metric("all", `${title}: first Allocate → last`);
  recordAgent(context, all, agent, lastMs - firstMs);
  for (const name of names) agent.removeManifest(name);
}

/** Agents of both kinds write down which devices there are. */
async function untilKnown(file: string, ids: readonly string[]): Promise<void> {
  const last = `"${ids.at(-1)}"`;
  await until(() => {
    try {
      return readFileSync(file, "utf8").includes(last);
    } catch {
      return false;
    }
  });
}

async function until(isSo: () => boolean): Promise<void> {
  const timeout = AbortSignal.timeout(timeoutMs);
  while (!isSo()) {
    timeout.throwIfAborted();
    await delay(pollMs);
  }
}

function metric(id: string, title: string): Metric {
  return { id: `devices-${id}`, case: "k", title, unit: "ms" };
}
