import { lstat, readdir, readFile as readText, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { startTimer } from "../../lib/timers.ts";
import type {
  FileSystemUsage,
  HostUsage,
  InterfaceUsage,
  TreeUsage,
} from "../../ports/host-usage.ts";
import { readDisks } from "./disks.ts";
import { readProcesses } from "./process-usage.ts";

/** Bytes of the blocks that stat counts, whatever the file system's own block size. */
const statBlockBytes = 512;
const fileSystemDeadlineMs = 2000;
const ignoredInterfaces = ["lo", "veth", "docker", "nerdctl"];

/** This machine's disks, network and process table. */
export function linuxHostUsage(nowMs: () => number, bootTimeMs: number): HostUsage {
  return {
    bootTimeMs,
    fileSystem: (path) => readFileSystem(path, nowMs),
    file: readFile,
    files: readFiles,
    interfaces: readInterfaces,
    disks: () => readDisks(),
    processes: readProcesses,
    tasks: readTasks,
  };
}

async function readFileSystem(
  path: string,
  nowMs: () => number,
): Promise<FileSystemUsage | undefined> {
  // The agent's own disk and the runtime's; a disk that fails may not answer either.
  const answer = await Promise.race([
    Promise.all([statfs(path), stat(path)]).catch(() => undefined),
    silenceAfter(fileSystemDeadlineMs),
  ]);
  if (answer === undefined) return undefined;
  const [fs, { dev }] = answer;
  return {
    timeMs: nowMs(),
    device: String(dev),
    availableBytes: fs.bavail * fs.bsize,
    capacityBytes: fs.blocks * fs.bsize,
    usedBytes: (fs.blocks - fs.bfree) * fs.bsize,
    inodes: fs.files,
    inodesFree: fs.ffree,
  };
}

function silenceAfter(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    startTimer(ms, () => resolve(undefined), { keepsAlive: false });
  });
}

async function readFile(path: string): Promise<TreeUsage | undefined> {
  const found = await statOrUndefined(path);
  return found && { usedBytes: found.blocks * statBlockBytes, inodesUsed: 1 };
}

async function readFiles(folder: string): Promise<TreeUsage | undefined> {
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined) return undefined;
  const usage = { usedBytes: 0, inodesUsed: 0 };
  for (const name of names) {
    const found = await statOrUndefined(join(folder, name));
    if (found === undefined || found.isDirectory()) continue;
    usage.usedBytes += found.blocks * statBlockBytes;
    usage.inodesUsed += 1;
  }
  return usage;
}

/** A container deletes while we look. */
async function statOrUndefined(path: string) {
  return await lstat(path).catch(() => undefined);
}

async function readInterfaces(
  pid: number | undefined,
): Promise<readonly InterfaceUsage[] | undefined> {
  const text = await textOf(`/proc/${pid ?? "self"}/net/dev`);
  return text === undefined ? undefined : parseInterfaces(text);
}

/** The lines of /proc/net/dev that count something outside the machine. */
export function parseInterfaces(text: string): readonly InterfaceUsage[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", counters] = line.trim().split(/:\s*/, 2);
    if (counters === undefined || ignoredInterfaces.some((prefix) => name.startsWith(prefix))) {
      return [];
    }
    const values = counters.split(/\s+/).map(Number);
    const at = (index: number) => values[index] ?? 0;
    return [
      {
        name,
        rxBytes: at(0),
        rxPackets: at(1),
        rxErrors: at(2),
        rxDropped: at(3),
        txBytes: at(8),
        txPackets: at(9),
        txErrors: at(10),
        txDropped: at(11),
      },
    ];
  });
}

async function readTasks(): Promise<{ max?: number; running?: number }> {
  const limits = await Promise.all(
    ["pid_max", "threads-max"].map((name) => textOf(`/proc/sys/kernel/${name}`)),
  );
  const known = limits.flatMap((text) => (text === undefined ? [] : [Number(text)]));
  const running = /\/(\d+)/.exec((await textOf("/proc/loadavg")) ?? "")?.[1];
  return {
    ...(known.length === 0 ? {} : { max: Math.min(...known) }),
    ...(running === undefined ? {} : { running: Number(running) }),
  };
}

async function textOf(path: string): Promise<string | undefined> {
  return await readText(path, "utf8").catch(() => undefined);
}
