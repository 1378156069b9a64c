// The reader of the agent's log stops reading: a journal that hangs, a terminal that was paused.
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BerthProcess, buildProgram } from "../integration/support/agent-process.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

const program = join(import.meta.dirname, "../../dist/berth.js");
// Long names make long lines: in a few seconds more than a pipe or a terminal holds.
const crashingPods = 20;
const longName = "x".repeat(150);

let folder: string;
let agent: ChildProcess | undefined;
let reader: number;
let unreadPipe: number;

beforeEach(() => {
  buildProgram();
  folder = makeTestFolder("journal");
  mkdirSync(join(folder, "pods"));
  writeCrashingPods();
  const pipe = join(folder, "log");
  execFileSync("mkfifo", [pipe]);
  reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  unreadPipe = openSync(pipe, constants.O_WRONLY);
});
afterEach(async () => {
  if (agent?.exitCode === null && agent.signalCode === null) {
    agent.kill("SIGKILL");
    await once(agent, "exit");
  }
  closeSync(reader);
  closeSync(unreadPipe);
  rmSync(folder, { recursive: true });
});

function writePod(name: string, script: string): void {
  const containers = [{ name: "main", image: "example.com/app:1" }];
  const annotations = { "sim.berth.dev/main": script };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: { containers },
  };
  writeFileSync(join(folder, "pods", `${name}.json`), JSON.stringify(pod));
}

function writeCrashingPods(): void {
  for (let index = 0; index < crashingPods; index++) {
    writePod(`crash${index}${longName}`, "run 1s, exit 1");
  }
}

function agentCommand(): readonly string[] {
  const flags = ["--data-dir", join(folder, "data"), "--speed", "1000", "--log-level", "debug"];
  return [process.execPath, program, "sim", "-f", join(folder, "pods"), ...flags];
}

/** It dies with the test, also when that is killed. */
function start(command: readonly string[], stdio: StdioOptions): ChildProcess {
  agent = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command], { stdio });
  return agent;
}

async function podRow(name: string): Promise<string> {
  const { stdout } = await new BerthProcess(["get", "pods", "--data-dir", join(folder, "data")])
    .ended;
  return stdout.split("\n").find((row) => row.startsWith(`${name}-`)) ?? "";
}

test("an agent whose log is not read keeps running pods", async () => {
  start(agentCommand(), ["ignore", "ignore", unreadPipe]);
  await untilManyLines();
  await expect.poll(() => podRow("late")).toContain("Running");
});

test("an agent on a terminal that was paused goes on running pods", async () => {
  // Gives the agent a terminal, and stops reading it when the pipe is not read.
  start(
    ["script", "-qfc", agentCommand().join(" "), "/dev/null"],
    ["ignore", unreadPipe, "ignore"],
  );
  await untilManyLines();
  await expect.poll(() => podRow("late")).toContain("Running");
});

/** The log has grown, and a pod was asked for since. */
async function untilManyLines(): Promise<void> {
  await expect.poll(() => restarts(`crash0${longName}`)).toBeGreaterThan(4);
  writePod("late", "run");
}

/** NAME READY STATUS RESTARTS … */
async function restarts(name: string): Promise<number> {
  return Number((await podRow(name)).split(/\s+/)[3] ?? 0);
}
