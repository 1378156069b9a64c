// `berth down`: stops the pods of a data folder gracefully and removes everything that the agent made.

import { existsSync } from "node:fs";
import { readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { podsDirectory } from "../core/paths/data-paths.ts";
import { planRemoval, planTermination } from "../core/pod/plan-end.ts";
import { containerdPaths } from "../drivers/containerd/containerd-paths.ts";
import {
  MANAGED_CONTAINERD_DEFAULTS,
  ManagedContainerd,
  teardownDataDir,
} from "../drivers/containerd/managed-containerd.ts";
import { createCriRuntime } from "../drivers/cri/cri-runtime.ts";
import { waitForRuntime } from "../drivers/cri/wait-for-runtime.ts";
import { blockDevices } from "../drivers/linux/block-devices.ts";
import { cgroupRootProblem } from "../drivers/linux/cgroup-files.ts";
import { linuxCommands } from "../drivers/linux/commands.ts";
import {
  type LockedDataDir,
  lockDataDir,
  lockFiles,
  pidFileName,
} from "../drivers/linux/data-dir-lock.ts";
import { linuxForeignFiles } from "../drivers/linux/foreign-files.ts";
import { ForeignHelpers } from "../drivers/linux/foreign-helpers.ts";
import { newHookHttp } from "../drivers/linux/hook-http.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { HungPaths } from "../drivers/linux/hung-paths.ts";
import { linuxMounts } from "../drivers/linux/mounts.ts";
import { openCgroups } from "../drivers/linux/open-cgroups.ts";
import { PodNames } from "../drivers/linux/pod-names.ts";
import { readMachine } from "../drivers/linux/read-machine.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import {
  type EndExecutorDeps,
  type ExecuteRequest,
  executePlan,
} from "../engine/execute/execute-plan.ts";
import { newSandboxStops } from "../engine/execute/kill-pod.ts";
import { restorePod } from "../engine/execute/restore-pod.ts";
import { failuresText, type StepReport } from "../engine/execute/step-report.ts";
import { readPod } from "../engine/observe/pod-reader.ts";
import { listRuntime } from "../engine/observe/runtime-listing.ts";
import { syncRecord } from "../engine/pods/sync-record.ts";
import { errorText } from "../lib/error-text.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { isPathWithin } from "../lib/path-within.ts";
import { SetupError } from "../lib/setup-error.ts";
import { sleep, timeoutSignal } from "../lib/timers.ts";
import type { PodUid } from "../model/ids.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import type { Log } from "../ports/log.ts";
import { bindingFolder } from "../server/unix-socket.ts";
import { hasClaimFolders, removeClaimFolders } from "./claim-folders.ts";
import { type DataLayout, dataLayout, kubeletFolder } from "./data-layout.ts";
import { DownVolumes } from "./down-volumes.ts";
import { dataDirPacketRules, removePacketRules } from "./packet-rules.ts";
import { foreignFilesProgram } from "./program-parts.ts";
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
const losetupTimeoutMs = 30_000;

/**
 * Removes all but the manifests, and what claims hold unless `removeVolumes`; an agent that still runs is asked to end first.
 * Safe to repeat.
 */
export async function runDown(
  dataDir: string,
  log: Log,
  { removeVolumes }: { readonly removeVolumes: boolean } = { removeVolumes: false },
): Promise<void> {
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
    const { volumes } = dataLayout(lock.path);
    const hasClaims = await hasClaimFolders(volumes);
    // All else may have been removed earlier.
    if (record === undefined && !(removeVolumes && hasClaims)) {
      const kept = (await readdir(lock.path)).filter((name) => !lockFiles.includes(name));
      log.info("the folder holds nothing of an agent, nothing is removed", { dataDir, kept });
      return;
    }
    if (record === "damaged") {
      throw new SetupError(
        `${recordPath(lock.path)} does not say which runtime the agent used`,
        "run `berth up` once with the flags it had, which writes it again, and then `berth down`",
      );
    }
    const helpers = new ForeignHelpers(foreignFilesProgram, new HungPaths(Date.now));
    if (record !== undefined) await removePods(lock.path, record, helpers, log);
    const foreignFiles = linuxForeignFiles(helpers, Date.now);
    if (removeVolumes) await removeClaimFolders(volumes, foreignFiles, timeoutSignal(totalMs));
    else if (hasClaims) log.info("keeping what claims hold: --volumes removes it", { volumes });
    await removeFiles(lock.path, helpers);
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
      const pid = Number(await readFile(join(dataDir, pidFileName), "utf8").catch(() => ""));
      if (!asked && pid > 0 && pid !== process.pid) {
        log.info("ending the running agent", { pid });
        process.kill(pid, "SIGTERM");
        asked = true;
      }
      await sleep(50);
    }
  }
}

/** What a removal of pods works with. */
interface Removal {
  readonly layout: DataLayout;
  readonly volumes: DownVolumes;
  readonly log: Log;
}

async function removePods(
  dataDir: string,
  record: RuntimeRecord,
  helpers: ForeignHelpers,
  log: Log,
): Promise<void> {
  const signal = timeoutSignal(totalMs);
  const layout = dataLayout(dataDir);
  await using volumes = await DownVolumes.find(layout, helpers, log, signal);
  const removal = { layout, volumes, log };
  if (record.network === undefined) {
    await endRuntimePods(removal, record.endpoint, signal);
    await removePacketRules(dataDirPacketRules(dataDir), signal);
  } else
    await removeManaged(
      removal,
      { ...MANAGED_CONTAINERD_DEFAULTS, ...record.network, dataDir },
      signal,
    );
  await removeCgroupRoot(record.cgroupRoot, log, signal);
  // Also of pods that could not be ended by the runtime.
  await volumes.giveBack([], signal);
  await volumes.requireReturned();
}

async function removeManaged(
  removal: Removal,
  options: Parameters<typeof ManagedContainerd.start>[0],
  signal: AbortSignal,
): Promise<void> {
  const { log } = removal;
  const machine = readMachine();
  try {
    const containerd = await ManagedContainerd.start(options, machine, log, signal);
    await endRuntimePods(removal, containerd.endpoint, signal);
    await containerd.teardown();
  } catch (error) {
    log.warn("cannot stop the pods gracefully, ending them at once", { error: errorText(error) });
    await teardownDataDir(options, machine, signal);
  }
}

async function endRuntimePods(
  removal: Removal,
  endpoint: string,
  signal: AbortSignal,
): Promise<void> {
  const runtime = createCriRuntime(endpoint);
  try {
    await waitForRuntime(runtime, runtimeTimeoutMs, signal);
    await endPods(runtime, removal, signal);
  } finally {
    runtime.close();
  }
}

/** Removes what is the agent's own. The record of it goes last, so that an interrupted removal can be repeated. */
async function removeFiles(dataDir: string, helpers: ForeignHelpers): Promise<void> {
  const { socket, rootFolder, podLogs, records, lastGood } = dataLayout(dataDir);
  const { base } = containerdPaths(dataDir);
  await releaseDevices(rootFolder, helpers);
  const sockets = [socket, bindingFolder(socket)];
  const frozen = freezeReportPath(dataDir);
  for (const path of [...sockets, rootFolder, podLogs, records, lastGood, base, frozen]) {
    await removeOwn(path, helpers);
  }
  await removeRuntimeRecord(dataDir);
}

/** The raw devices that pods had are held by loop devices: without their mounts nothing shows any more whose these are. */
async function releaseDevices(rootFolder: string, helpers: ForeignHelpers): Promise<void> {
  const commands = linuxCommands(helpers.hungPaths);
  for (const { device, backingFile } of await blockDevices.loopDevices()) {
    if (!isPathWithin(backingFile, rootFolder)) continue;
    const command = ["losetup", "-d", device];
    const { exitCode, output } = await commands.run(
      command,
      { timeoutMs: losetupTimeoutMs },
      timeoutSignal(totalMs),
    );
    if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${output}`);
  }
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

/**
 * Stops the pods of a data folder, each within its own grace period, and removes them from the runtime. Those that serve the
 * volumes of others are stopped once these were given back.
 */
async function endPods(
  runtime: ContainerRuntime,
  { layout, volumes, log }: Removal,
  signal: AbortSignal,
): Promise<void> {
  const ours = new Set(await hostFiles.list(podsDirectory(layout.rootFolder)));
  const { pods } = await listRuntime(runtime, systemClock, signal);
  const running = new Set([...pods.keys()].filter((uid) => ours.has(uid)));
  if (running.size > 0)
    log.info("ending pods, each within its grace period", { pods: running.size });
  const kill = {
    runtime,
    hookHttp: newHookHttp(new PodNames()),
    clock: systemClock,
    events: { record: () => undefined },
    log,
    // No agent is there to ask for them.
    metrics: new MetricsRegistry({}),
    sandboxStops: newSandboxStops(),
  };
  const deps = { kill, remove: { runtime, files: hostFiles, lifetime: signal } };
  // One pod that cannot be read or ended keeps no other from its end, nor the drivers from taking back what the others had.
  const reads = await Promise.allSettled(
    [...running].map((uid) => readRuntimePod(runtime, uid, signal)),
  );
  const failures = reads.flatMap((read) => (read.status === "rejected" ? [read.reason] : []));
  const observed = reads.flatMap((read) => (read.status === "fulfilled" ? [read.value] : []));
  for (const turn of await volumes.turns(observed, signal)) {
    const ends = await Promise.allSettled(
      turn.map((uid) => endPod(runtime, deps, uid, signal).then(() => running.delete(uid))),
    );
    failures.push(...ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : [])));
    await volumes.giveBack(running, signal);
  }
  if (failures.length > 0) throw failures[0];
}

function readRuntimePod(
  runtime: ContainerRuntime,
  uid: PodUid,
  signal: AbortSignal,
): Promise<ObservedPod> {
  return readPod({ runtime, clock: systemClock, runtimeName: "containerd" }, uid, signal);
}

async function endPod(
  runtime: ContainerRuntime,
  deps: EndExecutorDeps,
  uid: PodUid,
  signal: AbortSignal,
): Promise<void> {
  const observed = await readRuntimePod(runtime, uid, signal);
  const pod = await restorePod(runtime, observed, signal);
  const plan = planTermination({ pod, observed, isWanted: false });
  await carryOut(deps, "terminating", { pod, observed, plan }, signal);
  const stopped = await readRuntimePod(runtime, uid, signal);
  const removal = { pod, observed: stopped, plan: planRemoval({ observed: stopped }) };
  const failures = failuresText(await carryOut(deps, "removing", removal, signal));
  if (failures !== undefined) throw new Error(failures);
}

/** Says what is done and why: the agent that could be asked for it later is gone. */
async function carryOut(
  deps: EndExecutorDeps,
  kind: "terminating" | "removing",
  request: ExecuteRequest,
  signal: AbortSignal,
): Promise<readonly StepReport[]> {
  const { log, clock } = deps.kill;
  const startedAtMs = clock.nowMs();
  const { reports, error } = await executePlan(deps, request, signal);
  const { observed } = request;
  const work = { kind, observed, startedAtMs, reports };
  const record = syncRecord(request.pod.metadata, work, clock.nowMs());
  for (const { action: step, because, outcome, detail } of record.steps) {
    const fields = { pod: record.pod, step, because, detail };
    if (outcome === "done") log.info("a step of the end of a pod is done", fields);
    else log.warn("a step of the end of a pod has failed", fields);
  }
  if (error !== undefined) throw error;
  return reports;
}

/** Removes the cgroup of all pods. One that no agent accepts holds none, and is not a reason to keep the rest. */
export async function removeCgroupRoot(root: string, log: Log, signal: AbortSignal): Promise<void> {
  const problem = cgroupRootProblem(root);
  if (problem === undefined) await openCgroups(root).remove(root, signal);
  else log.warn("no cgroup is removed: none can have been made", { problem });
}
