// `berth down`: stops the pods of a data folder gracefully and removes everything that the agent made.
import { existsSync } from "node:fs";
import { readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { containerdPaths } from "../drivers/containerd/containerd-paths.ts";
import {
  MANAGED_CONTAINERD_DEFAULTS,
  ManagedContainerd,
  teardownDataDir,
} from "../drivers/containerd/managed-containerd.ts";
import { createCriRuntime } from "../drivers/cri/cri-runtime.ts";
import { waitForRuntime } from "../drivers/cri/wait-for-runtime.ts";
import { linuxCommands } from "../drivers/linux/commands.ts";
import { type LockedDataDir, lockDataDir } from "../drivers/linux/data-dir-lock.ts";
import { linuxForeignFiles } from "../drivers/linux/foreign-files.ts";
import { ForeignHelpers } from "../drivers/linux/foreign-helpers.ts";
import { HungPaths } from "../drivers/linux/hung-paths.ts";
import { linuxMounts } from "../drivers/linux/mounts.ts";
import { readMachine } from "../drivers/linux/read-machine.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import { sleep, timeoutSignal } from "../lib/timers.ts";
import type { Log } from "../ports/log.ts";
import { dataLayout, kubeletFolder } from "./data-layout.ts";
import { endPods } from "./end-pods.ts";
import { foreignFilesProgram } from "./foreign-files-program.ts";
import { dataDirPacketRules, removePacketRules } from "./packet-rules.ts";
import { removeCgroupRoot } from "./remove-cgroup-root.ts";
import {
  type RuntimeRecord,
  readRuntimeRecord,
  recordPath,
  removeRuntimeRecord,
} from "./runtime-record.ts";
import { freezeReportPath } from "./start-watchdog.ts";

const agentStopMs = 20_000;
const runtimeTimeoutMs = 30_000;
const totalMs = 10 * 60_000;

/** Removes all but the manifests; an agent that still runs is asked to end first. Safe to repeat. */
export async function runDown(dataDir: string, log: Log): Promise<void> {
  if (!readMachine().isRoot) throw new SetupError("removing pods needs root", "run it with sudo");
  if (!existsSync(dataDir)) return;
  if (existsSync(join(dataDir, kubeletFolder))) {
    throw new SetupError(
      `${dataDir} is the root folder of a kubelet, whose data berth down would remove`,
      "take the static pods away and let the agent end them",
    );
  }
  const lock = await takeOver(dataDir, log);
  try {
    const record = await readRuntimeRecord(lock.path);
    if (record === undefined) {
      log.info("no agent has used this folder, nothing is removed", { dataDir });
      return;
    }
    if (record === "damaged") {
      throw new SetupError(
        `${recordPath(lock.path)} does not say which runtime the agent used`,
        "run `berth up` once with the flags it had, which writes it again, and then `berth down`",
      );
    }
    await removePods(lock.path, record, log);
    await removeFiles(lock.path);
  } finally {
    await lock.release();
  }
  // Stays when the user's manifests lie in it.
  await rmdir(dataDir).catch(() => undefined);
}

async function takeOver(dataDir: string, log: Log): Promise<LockedDataDir> {
  const deadlineMs = Date.now() + agentStopMs;
  let asked = false;
  for (;;) {
    try {
      return await lockDataDir(dataDir);
    } catch (error) {
      if (Date.now() > deadlineMs) throw error;
      const pid = Number(await readFile(join(dataDir, "agent.pid"), "utf8").catch(() => ""));
      if (!asked && pid > 0 && pid !== process.pid) {
        log.info("ending the running agent", { pid });
        process.kill(pid, "SIGTERM");
        asked = true;
      }
      await sleep(50);
    }
  }
}

async function removePods(dataDir: string, record: RuntimeRecord, log: Log): Promise<void> {
  const signal = timeoutSignal(totalMs);
  if (record.network === undefined) {
    await endRuntimePods(dataDir, record.endpoint, log, signal);
    await removePacketRules(dataDirPacketRules(dataDir), signal);
  } else
    await removeManaged(
      { ...MANAGED_CONTAINERD_DEFAULTS, ...record.network, dataDir },
      log,
      signal,
    );
  await removeCgroupRoot(record.cgroupRoot, log, signal);
}

async function removeManaged(
  options: Parameters<typeof ManagedContainerd.start>[0],
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const machine = readMachine();
  try {
    const containerd = await ManagedContainerd.start(options, machine, log, signal);
    await endRuntimePods(options.dataDir, containerd.endpoint, log, signal);
    await containerd.teardown();
  } catch (error) {
    log.warn("cannot stop the pods gracefully, ending them at once", { error: errorText(error) });
    await teardownDataDir(options, machine, signal);
  }
}

async function endRuntimePods(
  dataDir: string,
  endpoint: string,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const runtime = createCriRuntime(endpoint);
  try {
    await waitForRuntime(runtime, runtimeTimeoutMs, signal);
    await endPods(runtime, dataLayout(dataDir), log, signal);
  } finally {
    runtime.close();
  }
}

/** Removes what is the agent's own. The record of it goes last, so that an interrupted removal can be repeated. */
async function removeFiles(dataDir: string): Promise<void> {
  const { socket, rootFolder, podLogs, records, lastGood } = dataLayout(dataDir);
  const { base } = containerdPaths(dataDir);
  const helpers = new ForeignHelpers(foreignFilesProgram, new HungPaths(Date.now));
  const frozen = freezeReportPath(dataDir);
  for (const path of [socket, rootFolder, podLogs, records, lastGood, base, frozen]) {
    await removeOwn(path, helpers);
  }
  await removeRuntimeRecord(dataDir);
}

/** What containers left there is foreign. */
async function removeOwn(path: string, helpers: ForeignHelpers): Promise<void> {
  const signal = timeoutSignal(totalMs);
  const mounts = linuxMounts(helpers.hungPaths, linuxCommands(helpers.hungPaths));
  for (const { mountPoint } of await mounts.listBelow(path)) {
    await mounts.unmount(mountPoint, signal);
  }
  await linuxForeignFiles(helpers, Date.now).removeTree(path, signal);
}
