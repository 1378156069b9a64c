// All attacks at once beside healthy pods: npm run hostile -- --minutes 10
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { isMainThread } from "node:worker_threads";
import type { Pod } from "../../../src/model/pod.ts";
import { readProcessTree } from "../../bench/process-usage.ts";
import { podsPath, untilNoPods } from "../../cluster/support/cluster-pods.ts";
import { ClusterWorld } from "../../cluster/support/cluster-world.ts";
import { kubeletPort } from "../../cluster/support/node-config.ts";
import { ConnectionAttackers } from "./connection-attackers.ts";
import { HealthyPods } from "./healthy-pods.ts";
import { HungFileSystem } from "./hung-file-system.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { askTheLoop, LoopWatch } from "./loop-watch.ts";
import { PodAttackers } from "./pod-attackers.ts";

const usage = "usage: npm run hostile -- [--minutes N]";
const healthyCount = 20;
const settleMs = 10_000;
const removalTimeoutMs = 180_000;

if (isMainThread) await main();
else askTheLoop();

async function main(): Promise<void> {
  const minutes = parseMinutes();
  if (minutes === undefined) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  const world = await ClusterWorld.start("berth");
  const closing = async (): Promise<void> => {
    await world.close();
    process.exit(130);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => void closing());
  try {
    const failures = [...(await soak(world, minutes * 60_000)), ...(await removePods(world))];
    for (const failure of failures) console.log(`FAILED: ${failure}`);
    if (failures.length > 0) process.exitCode = 1;
    else console.log("nothing healthy was disturbed");
  } finally {
    await world.close();
  }
}

function parseMinutes(): number | undefined {
  try {
    const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
    const minutes = Number(values.minutes);
    return minutes > 0 && minutes <= 24 * 60 ? minutes : undefined;
  } catch {
    return undefined;
  }
}

/** What was disturbed that should not have been. */
async function soak(world: ClusterWorld, durationMs: number): Promise<readonly string[]> {
  const { node, plane, api } = world;
  const healthy = await HealthyPods.start(api, healthyCount);
  await delay(settleMs);
  const before = readProcessTree(node.pid);
  const { pid } = node;
  note(`${healthyCount} healthy pods are ready; the attacks begin`);
  await using loop = new LoopWatch(new URL(import.meta.url), `${node.rootDir}/berth.sock`);
  await using lease = new LeaseWatch(api, node.name);
  await using hung = await HungFileSystem.mount(`${node.folder}/hung`);
  await using pods = new PodAttackers(world, hung.path);
  await using connections = new ConnectionAttackers({
    host: plane.address,
    port: kubeletPort,
    client: plane.issue("soak-admin", "admin", ["system:masters"]),
  });
  await pods.start();
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs && node.isRunning) {
    await delay(Math.min(30_000, Math.max(0, endMs - performance.now())));
    note(`${pods.summary()}; ${connections.summary()}; longest pause ${loop.longestMs()} ms`);
  }
  const after = node.isRunning ? readProcessTree(node.pid) : undefined;
  console.log(
    [
      `the loop's longest pause: ${loop.longestMs()} ms`,
      `the lease's longest time without renewal: ${lease.longestGapMs()} ms`,
      `memory before: ${memoryText(before)}`,
      after === undefined ? "the agent has ended" : `memory at the end: ${memoryText(after)}`,
      pods.summary(),
      connections.summary(),
    ].join("\n"),
  );
  return [
    ...(node.isRunning && node.pid === pid ? [] : [`the agent has ended: ${node.lastWords()}`]),
    ...healthy.disturbances(),
    ...lease.problems(),
    ...loop.problems(),
  ];
}

/** Of the agent and its helpers; what they share counts once. */
function memoryText({ pssMib, anonymousMib }: ReturnType<typeof readProcessTree>): string {
  return `${pssMib.toFixed(0)} MiB, ${anonymousMib.toFixed(0)} of it anonymous`;
}

/** Everything goes at once, and leaves nothing. */
async function removePods(world: ClusterWorld): Promise<readonly string[]> {
  if (!world.node.isRunning) return [];
  note("the attacks have ended; all pods are deleted");
  await world.api.delete(podsPath, { gracePeriodSeconds: 1 });
  try {
    await untilNoPods(world.api, "", removalTimeoutMs);
  } catch {
    const left = await world.api.list<Pod>(podsPath);
    return left.map(({ metadata }) => `pod ${metadata.name} does not go`);
  }
  return await world.leftovers(removalTimeoutMs);
}

function note(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
