import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "../../../src/model/generated/kubernetes.ts";
import { shell } from "../../integration/support/agent-manifests.ts";
import { createPods, deletePods, podNames } from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import { type BenchCase, recordAgent } from "../case-context.ts";
import { readProcessUsage } from "../process-usage.ts";
import type { Metric } from "../results.ts";

const settleMs = 3_000;
const serve =
  "mkdir /www; echo well > /www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait";

/** (g) What probing every second costs: each pod has one probe by HTTP and one by a command. */
export const probeCase: BenchCase = {
  needsCluster: true,
  rounds: () => 1,
  measureFloor: () => Promise.resolve(),
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const agent = await BenchAgent.create(world, contender);
    await agent.startReady();
    const names = podNames("probed", sizes.probedPods);
    const probed = shell("main", serve, {
      readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
      livenessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
    });
    await createPods(world, names, { containers: [probed] }, isReady);
    await delay(settleMs);
    const before = readProcessUsage(agent.pid);
    const beganMs = performance.now();
    await delay(sizes.probeSeconds * 1000);
    const minutes = (performance.now() - beganMs) / 60_000;
    const after = readProcessUsage(agent.pid);
    const what = `${2 * sizes.probedPods} probes a second`;
    const cpu: Metric = { id: "probes-cpu", case: "g", title: `${what}: CPU`, unit: "s/min" };
    const rss: Metric = { id: "probes-rss", case: "g", title: `${what}: RSS`, unit: "MiB" };
    recordAgent(context, cpu, agent, (after.cpuSeconds - before.cpuSeconds) / minutes);
    recordAgent(context, rss, agent, after.rssMib);
    await deletePods(world, names);
    await agent.stop();
  },
};

function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: value }) => type === "Ready" && value === "True",
  );
}
