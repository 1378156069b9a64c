// An unprivileged process on the host network takes the name of the data folder's lock while the agent restarts.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LockedDataDir, lockDataDir } from "../../src/drivers/linux/data-dir-lock.ts";
import { BerthProcess, buildProgram } from "../integration/support/agent-process.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

const stranger = 65_534;
const contenders = 12;

let folder: string;
let dataDir: string;
const processes = new Set<{ kill(): unknown }>();

beforeEach(() => {
  folder = makeTestFolder("lock");
  chmodSync(folder, 0o755);
  dataDir = join(folder, "data");
  mkdirSync(dataDir, { mode: 0o755 });
});
afterEach(async () => {
  for (const one of processes) await one.kill();
  processes.clear();
  rmSync(folder, { recursive: true });
});

/** Runs a script of Node as an unprivileged user; resolves when it prints. */
async function asStranger(script: string): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, ["-e", script], {
    uid: stranger,
    gid: stranger,
    stdio: ["pipe", "pipe", "inherit"],
  });
  processes.add(child);
  const [text] = (await once(child.stdout ?? child, "data")) as [Buffer];
  return text.toString().trim();
}

async function startAgent(): Promise<BerthProcess> {
  buildProgram();
  const agent = new BerthProcess(["sim", "-f", folder, "--data-dir", dataDir]);
  processes.add({ kill: () => agent.stop("SIGKILL") });
  await agent.untilPrinted(({ stdout }) => stdout.includes(`BERTH_DATA_DIR=${dataDir}\n`));
  return agent;
}

test("an agent starts although a stranger listens on the socket that was its lock", async () => {
  const { dev, ino } = statSync(dataDir, { bigint: true });
  const name = JSON.stringify(`\0berth/${dev}/${ino}`);
  const squat = `require("net").createServer().listen(${name}, () => console.log("taken"))`;
  expect(await asStranger(squat)).toBe("taken");
  expect((await startAgent()).isRunning).toBe(true);
});

test("a stranger cannot open the lock, so cannot hold it", async () => {
  const lock = await lockDataDir(dataDir);
  const file = JSON.stringify(join(dataDir, "agent.lock"));
  const read = `try { require("fs").openSync(${file}, "r"); console.log("opened") } catch (error) { console.log(error.code) }`;
  expect(await asStranger(read)).toBe("EACCES");
  await lock.release();
});

test("a killed agent leaves no lock, a running one is named", async () => {
  const first = await startAgent();
  await expect(lockDataDir(dataDir)).rejects.toThrow(`in use by the agent with pid ${first.pid}`);
  await first.stop("SIGKILL");
  const second = await startAgent();
  await expect(lockDataDir(dataDir)).rejects.toThrow(`with pid ${second.pid}`);
});

test("of agents that start in the same instant one gets the folder, also while it is released", async () => {
  for (let round = 0; round < 5; round++) {
    const before = await lockDataDir(dataDir);
    const during = Promise.allSettled(attempts());
    await before.release();
    const held = holders([...(await during), ...(await Promise.allSettled(attempts()))]);
    expect(held).toHaveLength(1);
    for (const lock of held) await lock.release();
  }
});

function attempts(): readonly Promise<LockedDataDir>[] {
  return Array.from({ length: contenders }, () => lockDataDir(dataDir));
}

function holders(
  outcomes: readonly PromiseSettledResult<LockedDataDir>[],
): readonly LockedDataDir[] {
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}
