// `npm run demo`: the example pods on this machine, with a live table; everything is removed at the end.
// npm run demo -- [--until-ready] [--timeout 120s]
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { AgentClient } from "../../src/cli/agent-client.ts";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import { parseDuration } from "../../src/lib/duration.ts";
import type { Pod } from "../../src/model/pod.ts";
import { busyboxImage } from "../images/busybox-image.ts";
import { podReport, podTable } from "./pod-table.ts";

const { values } = parseArgs({
  options: {
    "until-ready": { type: "boolean", default: false },
    timeout: { type: "string", default: "120s" },
  },
});
const timeout = parseDuration(values.timeout);
const timeoutMs = timeout.ok ? timeout.value : 0;
if (timeoutMs <= 0) {
  console.error(`demo: --timeout "${values.timeout}" is not a duration: give one such as 120s`);
  process.exit(2);
}

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stop.abort());

const dataDir = mkdtempSync(join(tmpdir(), "berth-demo-"));
const manifests = join(dataDir, "manifests");
mkdirSync(manifests);
const agent = startAgent();
const ended = new Promise<number>((resolve) => {
  agent.once("exit", (code) => resolve(code ?? 1));
});
let exitCode = 1;
try {
  exitCode = await run();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  say("removing everything again");
  agent.kill("SIGTERM");
  const code = await ended;
  rmSync(dataDir, { recursive: true, force: true });
  process.exitCode = exitCode === 0 ? code : exitCode;
}

async function run(): Promise<number> {
  const client = new AgentClient(join(dataDir, "berth.sock"));
  say("starting the agent with a containerd of its own");
  await untilAnswering(client);
  say("making the example image");
  const { runtimeEndpoint } = await client.readInfo(stop.signal);
  const runtime = createCriRuntime(runtimeEndpoint);
  const socket = runtimeEndpoint.replace("unix://", "");
  const target = { images: runtime, ctr: readMachine().tools.ctr ?? "ctr", socket };
  await ensureImages(target, [busyboxImage("latest")], stop.signal);
  runtime.close();
  say("starting the pods of examples/");
  cpSync("examples", manifests, { recursive: true });
  return values["until-ready"] ? untilReady(client) : showUntilStopped(client);
}

function startAgent(): ChildProcess {
  const flags = ["--bridge", "berth-demo0", "--subnet", "10.90.0.0/16", "--log-level", "warn"];
  return spawn(
    process.execPath,
    ["dist/berth.js", "up", "-f", manifests, "--data-dir", dataDir, ...flags, "--down-on-exit"],
    // A group of its own: Ctrl-C reaches the demo alone, which ends the agent when it has tidied up.
    { stdio: ["ignore", "inherit", "inherit"], detached: true },
  );
}

async function untilAnswering(client: AgentClient): Promise<void> {
  for (;;) {
    if (agent.exitCode !== null) throw new Error("the agent has ended: see above");
    stop.signal.throwIfAborted();
    try {
      await client.readInfo(stop.signal);
      return;
    } catch {
      await delay(100, undefined, { signal: stop.signal });
    }
  }
}

async function untilReady(client: AgentClient): Promise<number> {
  const deadline = AbortSignal.timeout(timeoutMs);
  let pods: readonly Pod[] = [];
  try {
    for (;;) {
      pods = (await client.listPods(undefined, {}, stop.signal)).items;
      const reports = pods.map(podReport);
      if (reports.length >= 3 && reports.every(({ isWell }) => isWell)) {
        console.log(podTable(pods, Date.now()));
        return 0;
      }
      await delay(200, undefined, { signal: AbortSignal.any([deadline, stop.signal]) });
    }
  } catch (error) {
    if (!deadline.aborted && !stop.signal.aborted) throw error;
    console.error(`demo: not all pods were well within ${values.timeout}:`);
    for (const { name, isWell, reason } of pods.map(podReport)) {
      if (!isWell) console.error(`  ${name}: ${reason}`);
    }
    if (pods.length === 0) console.error("  no pod has appeared");
    return 1;
  }
}

async function showUntilStopped(client: AgentClient): Promise<number> {
  const live = process.stdout.isTTY;
  let shown = "";
  while (!stop.signal.aborted) {
    const { items } = await client
      .listPods(undefined, {}, stop.signal)
      .catch(() => ({ items: [] }));
    const table = podTable(items, Date.now());
    if (live) {
      const lines = shown === "" ? 0 : shown.split("\n").length;
      process.stdout.write(
        `${lines === 0 ? "" : `\u001b[${lines}A\u001b[0J`}${table}\nCtrl-C ends\n`,
      );
      shown = `${table}\nCtrl-C ends`;
    } else if (table !== shown) {
      console.log(table);
      shown = table;
    }
    await delay(1000, undefined, { signal: stop.signal }).catch(() => undefined);
  }
  return 0;
}

function say(text: string): void {
  console.log(`demo: ${text}`);
}
