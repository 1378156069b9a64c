import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { sleep } from "../../lib/timers.ts";
import type { NetworkSettings } from "./containerd-config.ts";
import { CRI_NAMESPACE } from "./containerd-events.ts";
import type { ContainerdPaths } from "./containerd-paths.ts";
import { findProcesses, readArguments, signalProcess, startedAtMs } from "./containerd-process.ts";
import { findOrphanCgroups } from "./orphan-cgroups.ts";
import type { ContainerdTools } from "./prepare-machine.ts";
import { removeSandboxNetwork, sandboxesInNetwork } from "./remove-network.ts";
import { endCgroup, unmountBelow } from "./remove-traces.ts";
import { runCommand } from "./run-command.ts";

const POLL_MS = 20;
const END_TIMEOUT_MS = 2000;
const BETWEEN_LOOKS_MS = 1000;

/** A containerd that answers, and what belongs to it. */
export interface AnsweringContainerd {
  readonly pid: number;
  readonly paths: ContainerdPaths;
  readonly network: NetworkSettings;
  readonly tools: ContainerdTools;
}

/**
 * Removes what a containerd before this one had begun and not yet written down when it was killed: this one does not
 * know of it, and nothing else would ever remove it. Returns what it was.
 */
export function removeOrphans(containerd: AnsweringContainerd): Promise<readonly string[]> {
  return removeFound(() => findOrphans(containerd));
}

/** The same for the cgroups of containers below a root. To look for them takes long where there are many pods. */
export function removeOrphanCgroups(
  paths: ContainerdPaths,
  root: string,
): Promise<readonly string[]> {
  return removeFound(async () => {
    const folders = await findOrphanCgroups(root, bundlesFolder(paths));
    return folders.map((folder) => ({ name: `cgroup ${folder}`, remove: () => endCgroup(folder) }));
  });
}

async function removeFound(find: () => Promise<readonly Orphan[]>): Promise<readonly string[]> {
  const first = await find();
  if (first.length === 0) return [];
  // What is just coming or going is not the same in two looks.
  await sleep(BETWEEN_LOOKS_MS);
  const names = new Set(first.map(({ name }) => name));
  const orphans = (await find()).filter(({ name }) => names.has(name));
  for (const { remove } of orphans) await remove();
  return orphans.map(({ name }) => name);
}

interface Orphan {
  readonly name: string;
  readonly remove: () => Promise<unknown>;
}

/** In the order of their removal. */
async function findOrphans(containerd: AnsweringContainerd): Promise<readonly Orphan[]> {
  const { paths, tools } = containerd;
  // In the order that is not theirs: a container is written down, has a folder, a shim, a place in runc.
  const root = join(paths.runcRoot, CRI_NAMESPACE);
  const inRunc = await namesIn(root);
  const shims = await findShims(paths);
  const folders = await namesIn(bundlesFolder(paths));
  const ids = await readIds(paths, tools);
  const known = folders.filter((id) => ids.includes(id));
  const specs = await readSpecs(known, paths);
  return [
    ...inRunc
      .filter((id) => !known.includes(id))
      .map((id) => ({
        name: `container ${id}`,
        // What runc cannot end is tried again.
        remove: () =>
          runCommand(tools.runc, ["--root", root, "delete", "--force", id]).catch(() => undefined),
      })),
    // Containers share the shim of their sandbox, which their specs name.
    ...shims
      .filter(({ id }) => !known.includes(id) && !specs.includes(id))
      .map(({ pid, id }) => ({ name: `shim ${pid} of ${id}`, remove: () => endShim(pid, paths) })),
    ...folders
      .filter((id) => !ids.includes(id))
      .map((id) => ({ name: `folder of ${id}`, remove: () => removeBundle(id, paths, tools) })),
    ...(await findNetworks(containerd, ids, specs)),
  ];
}

async function findNetworks(
  { pid, paths, network, tools }: AnsweringContainerd,
  ids: readonly string[],
  specs: string,
): Promise<readonly Orphan[]> {
  // What is younger may be of a sandbox that is being made.
  const beforeMs = await startedAtMs(pid);
  const folder = join(paths.state, "io.containerd.grpc.v1.cri", "netns");
  const namespaces: string[] = [];
  for (const name of await namesIn(folder)) {
    if (!specs.includes(name) && (await isOlder(join(folder, name), beforeMs))) {
      namespaces.push(name);
    }
  }
  const sandboxes = await sandboxesInNetwork(network, paths, tools, beforeMs);
  // Also a sandbox that has ended has its network namespace until it is stopped.
  const records = namespaces.length === 0 ? "" : await readRecords(ids, paths, tools);
  return [
    ...namespaces
      .filter((name) => !records.includes(name))
      .map((name) => ({
        name: `network namespace ${name}`,
        remove: () => removeNamespace(join(folder, name), tools),
      })),
    ...sandboxes
      .filter((id) => !ids.includes(id))
      .map((id) => ({
        name: `network of ${id}`,
        remove: () => removeSandboxNetwork(network, id, paths, tools),
      })),
  ];
}

interface Shim {
  readonly pid: number;
  readonly id: string;
}

async function findShims(paths: ContainerdPaths): Promise<readonly Shim[]> {
  const shims: Shim[] = [];
  for (const pid of await findProcesses((argv) => isShim(argv, paths))) {
    const argv = await readArguments(pid);
    // One that has just ended has no arguments.
    if (isShim(argv, paths)) shims.push({ pid, id: argv[argv.indexOf("-id") + 1] ?? "" });
  }
  return shims;
}

async function removeBundle(
  id: string,
  paths: ContainerdPaths,
  tools: ContainerdTools,
): Promise<void> {
  const folder = join(bundlesFolder(paths), id);
  await unmountBelow(folder, tools);
  await rm(folder, { recursive: true, force: true });
}

async function removeNamespace(file: string, tools: ContainerdTools): Promise<void> {
  await runCommand(tools.umount, [file]).catch(() => undefined);
  await rm(file, { force: true });
}

function isShim(argv: readonly string[], paths: ContainerdPaths): boolean {
  return basename(argv[0] ?? "").startsWith("containerd-shim") && argv.includes(paths.socket);
}

async function endShim(pid: number, paths: ContainerdPaths): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    signalProcess(pid, signal);
    const deadline = Date.now() + END_TIMEOUT_MS;
    while (Date.now() < deadline) {
      if (!isShim(await readArguments(pid), paths)) return;
      await sleep(POLL_MS);
    }
  }
}

/** What is written about containers and sandboxes that run: the network namespaces they are in, among others. */
async function readSpecs(ids: readonly string[], paths: ContainerdPaths): Promise<string> {
  const files = ids.map((id) => join(bundlesFolder(paths), id, "config.json"));
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
  return texts.join("\n");
}

/** The ids of the sandboxes and containers that containerd knows, also of those that have ended. */
async function readIds(paths: ContainerdPaths, tools: ContainerdTools): Promise<readonly string[]> {
  const text = await runCommand(tools.ctr, [...ctrFlags(paths), "containers", "ls", "-q"]);
  return text.split("\n").filter((id) => id !== "");
}

/** All that containerd has written down about them. */
async function readRecords(
  ids: readonly string[],
  paths: ContainerdPaths,
  tools: ContainerdTools,
): Promise<string> {
  const records: string[] = [];
  for (const id of ids) {
    const command = [...ctrFlags(paths), "containers", "info", id];
    const record = await runCommand(tools.ctr, command).catch((error: unknown) => {
      // Removed just now. Otherwise, who does not answer may know anything.
      if (errorText(error).includes("not found")) return "";
      throw error;
    });
    records.push(record);
  }
  return records.join("\n");
}

function ctrFlags(paths: ContainerdPaths): readonly string[] {
  return ["-a", paths.socket, "-n", CRI_NAMESPACE];
}

async function isOlder(file: string, thanMs: number): Promise<boolean> {
  const info = await stat(file).catch(() => undefined);
  return info !== undefined && info.mtimeMs < thanMs;
}

function bundlesFolder(paths: ContainerdPaths): string {
  return join(paths.state, "io.containerd.runtime.v2.task", CRI_NAMESPACE);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
