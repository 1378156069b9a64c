import { readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { NetworkSettings } from "./containerd-config.ts";
import { CRI_NAMESPACE } from "./containerd-events.ts";
import type { ContainerdPaths } from "./containerd-paths.ts";
import { findProcesses, readArguments, signalProcess } from "./containerd-process.ts";
import type { ContainerdTools } from "./prepare-machine.ts";
import { removeSandboxNetwork, sandboxesInNetwork } from "./remove-network.ts";
import { runCommand } from "./run-command.ts";

const POLL_MS = 20;
const END_TIMEOUT_MS = 2000;

/** What containerds that ran before have on the machine. */
export interface ContainerdTraces {
  /** By process id: what the shim was started for. */
  readonly shims: ReadonlyMap<number, string>;
  /** The files that hold network namespaces. */
  readonly namespaces: readonly string[];
  /** The ids of sandboxes that have an address. */
  readonly sandboxes: readonly string[];
}

/** To be asked while no containerd runs: what a new one makes is none of it. */
export async function findTraces(
  paths: ContainerdPaths,
  network: NetworkSettings,
): Promise<ContainerdTraces> {
  const shims = new Map<number, string>();
  for (const pid of await findProcesses((argv) => isShim(argv, paths))) {
    const argv = await readArguments(pid);
    shims.set(pid, argv[argv.indexOf("-id") + 1] ?? "");
  }
  const folder = namespacesFolder(paths);
  const namespaces = (await namesIn(folder)).map((name) => join(folder, name));
  return { shims, namespaces, sandboxes: await sandboxesInNetwork(network, paths) };
}

/**
 * Removes what a containerd that was killed had begun and had not yet written down: the one that follows does not know
 * of it, and nobody else would ever remove it. To be called as soon as that one answers.
 */
export async function removeOrphans(
  { shims, namespaces, sandboxes }: ContainerdTraces,
  paths: ContainerdPaths,
  network: NetworkSettings,
  tools: ContainerdTools,
): Promise<readonly string[]> {
  if (shims.size + namespaces.length + sandboxes.length === 0) return [];
  const removed: string[] = [];
  const served = await readBundles(paths);
  for (const [pid, id] of shims) {
    if (served.includes(id) || !(await isShimOf(pid, id, paths))) continue;
    await endShim(pid, id, paths);
    removed.push(`shim ${pid} of ${id}`);
  }
  const records = await readRecords(paths, tools);
  for (const path of namespaces.filter((each) => !records.includes(basename(each)))) {
    await runCommand(tools.umount, [path]).catch(() => undefined);
    await rm(path, { force: true });
    removed.push(`network namespace ${basename(path)}`);
  }
  for (const id of sandboxes.filter((each) => !records.includes(each))) {
    await removeSandboxNetwork(network, id, paths, tools);
    removed.push(`address of ${id}`);
  }
  return removed;
}

function isShim(argv: readonly string[], paths: ContainerdPaths): boolean {
  return basename(argv[0] ?? "").startsWith("containerd-shim") && argv.includes(paths.socket);
}

async function isShimOf(pid: number, id: string, paths: ContainerdPaths): Promise<boolean> {
  const argv = await readArguments(pid);
  return isShim(argv, paths) && argv.includes(id);
}

async function endShim(pid: number, id: string, paths: ContainerdPaths): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    signalProcess(pid, signal);
    const deadline = Date.now() + END_TIMEOUT_MS;
    while (Date.now() < deadline) {
      if (!(await isShimOf(pid, id, paths))) return;
      await delay(POLL_MS);
    }
  }
}

/** The ids of what containerd has a shim for, and what is written about each: a container names its sandbox. */
async function readBundles(paths: ContainerdPaths): Promise<string> {
  const folder = join(paths.state, "io.containerd.runtime.v2.task", CRI_NAMESPACE);
  const ids = await namesIn(folder);
  const specs = await Promise.all(
    ids.map((id) => readFile(join(folder, id, "config.json"), "utf8").catch(() => "")),
  );
  return [...ids, ...specs].join("\n");
}

/** All that containerd knows of sandboxes and containers, their network namespaces among it. */
async function readRecords(paths: ContainerdPaths, tools: ContainerdTools): Promise<string> {
  const ctr = (...args: readonly string[]): Promise<string> =>
    runCommand(tools.ctr, ["-a", paths.socket, "-n", CRI_NAMESPACE, "containers", ...args]);
  const ids = (await ctr("ls", "-q")).split("\n").filter((id) => id !== "");
  // One that is removed just now has nothing to be kept.
  const records = await Promise.all(ids.map((id) => ctr("info", id).catch(() => "")));
  return [...ids, ...records].join("\n");
}

function namespacesFolder(paths: ContainerdPaths): string {
  return join(paths.state, "io.containerd.grpc.v1.cri", "netns");
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
