// What 200 probes a second cost the agent, and whether one of them fails without a reason:
// node tools/run.mjs test/bench/probes.ts [--seconds 60] [--pods 10] [--exec 100]
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Container } from "../../src/model/generated/kubernetes.ts";
import { podManifest, shell } from "../integration/support/agent-manifests.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

const network = 99;
const probes = 200;
/** The kernel counts a process's time in hundredths of a second. */
const ticksPerSecond = 100;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    pods: { type: "string", default: "10" },
    exec: { type: "string", default: "100" },
  },
});
const seconds = Number(values.seconds);
const podCount = Number(values.pods);
const execCount = Number(values.exec);

const world = await AgentWorld.start(network);
try {
  await run();
} finally {
  await world.close();
}

async function run(): Promise<void> {
  const names = Array.from({ length: podCount }, (_, index) => `probed-${index}`);
  const containersPerPod = Math.ceil(probes / 2 / podCount);
  let execsLeft = execCount;
  for (const name of names) {
    const containers = Array.from({ length: containersPerPod }, (_, index) => {
      execsLeft -= 1;
      return probedContainer(index, execsLeft >= 0);
    });
    world.write(`${name}.json`, podManifest(name, { containers }));
  }
  console.log(`starting ${podCount} pods with ${containersPerPod} containers each`);
  for (const name of names) {
    await waitForPod(world.client, world.podName(name), isReady, 300_000);
  }
  await delay(10_000);
  const before = { cpu: cpuSeconds(), unhealthy: await unhealthy() };
  const startedMs = performance.now();
  await delay(seconds * 1000);
  const minutes = (performance.now() - startedMs) / 60_000;
  const cpuPerMinute = (cpuSeconds() - before.cpu) / minutes;
  const failures = (await unhealthy()) - before.unhealthy;
  const what = `${probes} probes with a period of 1 s (${execCount} of them exec, the others httpGet)`;
  console.log(`${what}, for ${seconds} s`);
  console.log(`agent: ${cpuPerMinute.toFixed(2)} CPU seconds per minute`);
  console.log(`failures: ${failures}`);
  if (failures > 0) process.exitCode = 1;
}

/** Two probes: readiness by HTTP, liveness by HTTP or by a command. */
function probedContainer(index: number, withExec: boolean): Container {
  const port = 8000 + index;
  const http = { httpGet: { path: "/", port }, periodSeconds: 1 };
  const exec = { exec: { command: ["true"] }, periodSeconds: 1 };
  const serve = `mkdir /www; echo well > /www/index.html; httpd -f -p ${port} -h /www`;
  const script = `trap 'exit 0' TERM; ${serve} & wait`;
  return shell(`c${index}`, script, {
    readinessProbe: http,
    livenessProbe: withExec ? exec : http,
  });
}

function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${world.agent.pid}/stat`, "utf8").split(") ")[1]?.split(" ");
  return (Number(fields?.[11]) + Number(fields?.[12])) / ticksPerSecond;
}

/** How often a probe has failed so far. */
async function unhealthy(): Promise<number> {
  const signal = AbortSignal.timeout(30_000);
  const { items } = await world.client.listPods(undefined, {}, signal);
  let count = 0;
  for (const pod of items) {
    for (const event of await world.client.listEvents(pod, signal)) {
      if (event.reason === "Unhealthy") count += event.count ?? 1;
    }
  }
  return count;
}
