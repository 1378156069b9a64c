// Whatever freezes the agent all the same is noticed: the process is ended, and the next one reports it.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BerthProcess, buildProgram } from "../integration/support/agent-process.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

let folder: string;
let agent: BerthProcess | undefined;

beforeEach(() => {
  buildProgram();
  folder = makeTestFolder("watchdog");
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
  rmSync(folder, { recursive: true });
});

/** Starts an agent, with a script that runs in its thread before it. */
function startAgent(script = ""): BerthProcess {
  const preload = join(folder, "preload.cjs");
  writeFileSync(preload, script);
  const args = ["sim", "-f", join(folder, "pods"), "--data-dir", join(folder, "data")];
  agent = new BerthProcess(args, {
    NODE_OPTIONS: `--require ${preload}`,
    BERTH_WATCHDOG_SECONDS: "6",
  });
  return agent;
}

async function berth(...args: readonly string[]): Promise<string> {
  const command = new BerthProcess([...args, "--data-dir", join(folder, "data")]);
  return (await command.ended).stdout;
}

const freezeWhenAsked = (): string => `
  const { existsSync } = require("node:fs");
  function spinForEver() { for (;;); }
  setInterval(() => existsSync(${JSON.stringify(join(folder, "freeze"))}) && spinForEver(), 100).unref();`;

test("an agent whose thread is stuck is ended, and the next one says so in its log, at the pod and as an event", async () => {
  const first = startAgent(freezeWhenAsked());
  await first.untilPrinted(({ stdout }) => stdout.includes("The agent is up"));
  await expect.poll(() => berth("get", "pods")).toContain("Running");
  writeFileSync(join(folder, "freeze"), "");
  await first.ended;
  const report = readFileSync(join(folder, "data/frozen.json"), "utf8");
  expect(JSON.parse(report)).toMatchObject({
    pid: first.pid,
    kind: "thread",
    podUid: expect.stringMatching(/./),
    step: expect.stringMatching(/./),
    stack: expect.arrayContaining([expect.stringMatching(/^spinForEver .*preload\.cjs:/)]),
  });
  rmSync(join(folder, "freeze"));
  const second = startAgent();
  await second.untilPrinted(({ stderr }) => stderr.includes("was ended by its watchdog"));
  await expect.poll(() => berth("why", "web-sim")).toContain("the agent's thread stood still");
  expect(await berth("describe", "pod", "web-sim")).toContain("AgentFrozen");
  await expect.poll(() => existsSync(join(folder, "data/frozen.json"))).toBe(false);
});

test("an agent whose loop waits for ever is ended although its thread runs", async () => {
  // From then on no timer of the loop fires; its thread goes on.
  const first = startAgent(`
    const { existsSync } = require("node:fs");
    const { setTimeout: real } = globalThis;
    globalThis.setTimeout = (work, ...rest) => real((...args) => {
      if (!existsSync(${JSON.stringify(join(folder, "freeze"))})) work(...args);
    }, ...rest);`);
  await first.untilPrinted(({ stdout }) => stdout.includes("The agent is up"));
  writeFileSync(join(folder, "freeze"), "");
  await first.ended;
  const report = readFileSync(join(folder, "data/frozen.json"), "utf8");
  expect(JSON.parse(report)).toMatchObject({ pid: first.pid, kind: "loop" });
});
