// SIGUSR1, which other daemons take for "reopen your log", makes Node open a debugger that runs anybody's code.
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BerthProcess, buildProgram } from "../integration/support/agent-process.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

const listeningState = "0A";
const signalEveryMs = 2;

let folder: string;
let agent: BerthProcess | undefined;

beforeEach(() => {
  buildProgram();
  folder = makeTestFolder("debugger");
  mkdirSync(join(folder, "pods"));
});
afterEach(async () => {
  await agent?.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

function startAgent(environment: Readonly<Record<string, string>> = {}): BerthProcess {
  const args = ["sim", "-f", join(folder, "pods"), "--data-dir", join(folder, "data")];
  agent = new BerthProcess(args, environment);
  return agent;
}

const isUp = ({ stdout }: { readonly stdout: string }): boolean =>
  stdout.includes("The agent is up");

/** The TCP ports on which a process listens. */
function listeningPorts(pid: number): readonly number[] {
  const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(pid, fd)));
  const rows = ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, "utf8").trim().split("\n").slice(1),
  );
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    const isOurs = state === listeningState && sockets.has(`socket:[${inode}]`);
    return isOurs ? [Number.parseInt(local.split(":")[1] ?? "", 16)] : [];
  });
}

function linkOf(pid: number, fd: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    // Closed since it was listed.
    return "";
  }
}

test("a running agent ignores the signal, opens nothing and logs it", async () => {
  const running = startAgent();
  await running.untilPrinted(isUp);
  process.kill(running.pid, "SIGUSR1");
  await running.untilPrinted(({ stderr }) => /ignored SIGUSR1|Debugger listening/.test(stderr));
  expect(running.stderr).toContain("ignored SIGUSR1");
  expect(running.stderr).not.toContain("Debugger listening");
  expect(listeningPorts(running.pid)).toEqual([]);
});

test("SIGUSR2, at which Node would end, is ignored as by a kubelet", async () => {
  const running = startAgent();
  await running.untilPrinted(isUp);
  process.kill(running.pid, "SIGUSR2");
  await running.untilPrinted(({ stderr }) => stderr.includes("ignored SIGUSR2"));
  expect(running.isRunning).toBe(true);
});

test("what the signal opens while the agent starts is closed", async () => {
  // Before Node has set itself up the signal ends the process, as it ends any other: then a little later.
  for (let waitMs = 0; ; waitMs += 10) {
    const starting = startAgent();
    await delay(waitMs);
    while (starting.isRunning && !isUp(starting)) {
      process.kill(starting.pid, "SIGUSR1");
      await delay(signalEveryMs);
    }
    if (!starting.isRunning) continue;
    await expect.poll(() => listeningPorts(starting.pid)).toEqual([]);
    if (!starting.stderr.includes("Debugger listening")) return;
    await starting.untilPrinted(({ stderr }) => stderr.includes("closed Node's debugger"));
    return;
  }
});

test("an agent does not start with a debugger that its environment asks for", async () => {
  const refused = startAgent({ NODE_OPTIONS: "--inspect=127.0.0.1:0" });
  const { code, stderr } = await refused.ended;
  expect(code).toBe(1);
  expect(stderr).toContain("Node was started with --inspect=127.0.0.1:0");
});
