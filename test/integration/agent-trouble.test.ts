import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BerthProcess, buildProgram, type Ended } from "./support/agent-process.ts";
import { makeTestFolder } from "./support/test-folder.ts";

let folder: string;
let dataDir: string;
let agent: BerthProcess | undefined;
let taken: Server | undefined;

beforeEach(() => {
  buildProgram();
  folder = makeTestFolder("trouble");
  dataDir = join(folder, "data");
  mkdirSync(join(folder, "pods"));
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", annotations: { "sim.berth.dev/main": "run" } },
    spec: { containers: [{ name: "main", image: "example.com/app:1" }] },
  };
  writeFileSync(join(folder, "pods/web.json"), JSON.stringify(pod));
});
afterEach(async () => {
  await agent?.stop("SIGKILL");
  taken?.close();
  rmSync(folder, { recursive: true });
});

async function startAgent(...flags: readonly string[]): Promise<BerthProcess> {
  const args = ["sim", "-f", join(folder, "pods"), "--data-dir", dataDir, ...flags];
  agent = new BerthProcess(args);
  await agent.untilPrinted(({ stdout }) => stdout.includes("The agent is up"));
  return agent;
}

function berth(...args: readonly string[]): Promise<Ended> {
  return new BerthProcess([...args, "--data-dir", dataDir]).ended;
}

async function takePort(): Promise<number> {
  taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("a port of --ui that is in use is named, the agent runs without its page and serves it when the port is free", async () => {
  const port = await takePort();
  const started = await startAgent(`--ui=127.0.0.1:${port}`);
  await started.untilPrinted(({ stderr }) =>
    stderr.includes(`cannot listen on 127.0.0.1 port ${port}`),
  );
  await expect.poll(async () => (await berth("get", "pods")).stdout).toContain("Running");
  const refused = await berth("ui", "--print");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain(`cannot listen on 127.0.0.1 port ${port}`);
  taken?.close();
  // It is tried again after a minute at the latest.
  await expect
    .poll(async () => (await berth("ui", "--print")).stdout, { timeout: 180_000 })
    .toContain(`http://127.0.0.1:${port}/#login=`);
});
