import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseJsonText } from "../../lib/json-text.ts";
import { mountPointsBelow, parseMountInfo } from "../../lib/mount-info.ts";
import { sleep } from "../../lib/timers.ts";
import type { NetworkSettings } from "./containerd-config.ts";
import { CRI_NAMESPACE } from "./containerd-events.ts";
import type { ContainerdPaths } from "./containerd-paths.ts";
import { findProcesses, signalProcess } from "./containerd-process.ts";
import type { ContainerdTools } from "./prepare-machine.ts";
import { removeNetwork } from "./remove-network.ts";
import { runCommand } from "./run-command.ts";

const POLL_MS = 20;
const KILL_TIMEOUT_MS = 10_000;

/** Removes all that containers of a stopped containerd hold, and its folder. May be repeated. */
export async function removeContainerdTraces(
  paths: ContainerdPaths,
  tools: ContainerdTools,
  network: NetworkSettings,
): Promise<void> {
  const cgroups = await containerCgroups(paths);
  const shimSockets = await listShimSockets(paths);
  await killHelpers(paths);
  for (const cgroup of cgroups) await killCgroup(cgroup);
  for (const cgroup of cgroups) await removeCgroup(cgroup);
  for (const socket of shimSockets) await rm(socket, { force: true });
  await unmountBelow(paths.base, tools);
  await removeNetwork(network, tools);
  await rm(paths.base, { recursive: true, force: true });
}

// Without its shim and runc nothing of a container is started or reported again.
async function killHelpers(paths: ContainerdPaths): Promise<void> {
  const isOurs = (argv: readonly string[]): boolean => {
    const program = basename(argv[0] ?? "");
    const isShim = program.startsWith("containerd-shim") && argv.includes(paths.socket);
    return isShim || (program === "runc" && argv.includes(join(paths.runcRoot, CRI_NAMESPACE)));
  };
  const deadline = Date.now() + KILL_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const pids = await findProcesses(isOurs);
    if (pids.length === 0) return;
    for (const pid of pids) signalProcess(pid, "SIGKILL");
    await sleep(POLL_MS);
  }
}

/** The cgroup folders of every container, as runc recorded them. */
async function containerCgroups(paths: ContainerdPaths): Promise<readonly string[]> {
  const folder = join(paths.runcRoot, CRI_NAMESPACE);
  const cgroups = new Set<string>();
  for (const id of await namesIn(folder)) {
    const text = await readFile(join(folder, id, "state.json"), "utf8").catch(() => "{}");
    const state: unknown = parseJsonText(text);
    for (const path of cgroupPaths(state)) {
      // Whatever else the record may say: only folders named after the container are its own.
      if (path.startsWith("/sys/fs/cgroup/") && basename(path).includes(id)) cgroups.add(path);
    }
  }
  return [...cgroups];
}

function cgroupPaths(state: unknown): readonly string[] {
  if (typeof state !== "object" || state === null || !("cgroup_paths" in state)) return [];
  const paths: unknown = state.cgroup_paths;
  if (typeof paths !== "object" || paths === null) return [];
  return Object.values(paths).filter((path): path is string => typeof path === "string");
}

/** Kills what runs in a cgroup and removes it. */
export async function endCgroup(folder: string): Promise<void> {
  await killCgroup(folder);
  await removeCgroupTree(folder);
}

async function killCgroup(folder: string): Promise<void> {
  const deadline = Date.now() + KILL_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const pids = await processesIn(folder);
    if (pids.length === 0) return;
    for (const pid of pids) signalProcess(pid, "SIGKILL");
    await sleep(POLL_MS);
  }
}

async function processesIn(folder: string): Promise<readonly number[]> {
  const text = await readFile(join(folder, "cgroup.procs"), "utf8").catch(() => "");
  const own = text.split("\n").filter(Boolean).map(Number);
  const inner = await Promise.all((await childCgroups(folder)).map(processesIn));
  return [...own, ...inner.flat()];
}

// Pods' parents are left behind by the runtime: they go too, as far up as they are empty.
async function removeCgroup(folder: string): Promise<void> {
  await removeCgroupTree(folder);
  let parent = dirname(folder);
  while (parent.startsWith("/sys/fs/cgroup/")) {
    if (!(await tryRemoveFolder(parent))) return;
    parent = dirname(parent);
  }
}

async function removeCgroupTree(folder: string): Promise<void> {
  for (const child of await childCgroups(folder)) await removeCgroupTree(child);
  // The kernel frees the last process' place a moment after it is gone.
  for (let attempt = 0; attempt < 50 && !(await tryRemoveFolder(folder)); attempt++) {
    await sleep(POLL_MS);
  }
}

async function childCgroups(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
}

/** True when it is gone. */
async function tryRemoveFolder(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT",
  );
}

// Shims listen in a folder shared by all containerds of a machine.
async function listShimSockets(paths: ContainerdPaths): Promise<readonly string[]> {
  const bundles = join(paths.state, "io.containerd.runtime.v2.task", CRI_NAMESPACE);
  const sockets: string[] = [];
  for (const id of await namesIn(bundles)) {
    const address = await readFile(join(bundles, id, "address"), "utf8").catch(() => "");
    if (address.startsWith("unix:///run/containerd/s/")) sockets.push(address.slice(7).trim());
  }
  return sockets;
}

/** Unmounts everything at or below a folder, lazily where it is still in use; throws when some remains. */
export async function unmountBelow(folder: string, tools: ContainerdTools): Promise<void> {
  for (const flags of [[], ["--lazy"]]) {
    const points = await readMountPoints(folder);
    if (points.length === 0) return;
    // One that fails does not keep umount from trying the others; what is left is handled next.
    await runCommand(tools.umount, [...flags, ...points]).catch(() => undefined);
  }
  const left = await readMountPoints(folder);
  if (left.length > 0) throw new Error(`cannot unmount ${left.join(", ")}`);
}

async function readMountPoints(folder: string): Promise<readonly string[]> {
  return mountPointsBelow(parseMountInfo(await readFile("/proc/self/mountinfo", "utf8")), folder);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
