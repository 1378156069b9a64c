import { spawn } from "node:child_process";
import { open, readdir, readFile, stat, truncate } from "node:fs/promises";
import { createConnection } from "node:net";
import { basename } from "node:path";
import { sleep } from "../../lib/timers.ts";
import type { ContainerdPaths } from "./containerd-paths.ts";

const POLL_MS = 200;
const CONNECT_RETRY_MS = 20;
const STOP_TIMEOUT_MS = 10_000;
const MAX_LOG_BYTES = 8 * 1024 * 1024;
const LOG_TAIL_LINES = 5;
// In /proc/PID/stat, counted after the command's name; the kernel's unit for users is the same everywhere.
const START_TICKS_FIELD = 19;
const TICKS_PER_SECOND = 100;
const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** A running containerd, started by this process or found. */
export interface ContainerdProcess {
  readonly pid: number;
  /** Resolves when it is gone. */
  readonly exited: Promise<void>;
}

/** Starts containerd so that it outlives this process. */
export async function spawnContainerd(
  program: string,
  paths: ContainerdPaths,
): Promise<ContainerdProcess> {
  const log = await open(paths.logFile, "a", 0o640);
  try {
    const child = spawn(program, ["--config", paths.configFile], {
      detached: true,
      cwd: "/",
      env: containerdEnvironment(),
      stdio: ["ignore", log.fd, log.fd],
    });
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    return { pid: child.pid ?? 0, exited };
  } finally {
    await log.close();
  }
}

/** The containerd that runs with this configuration, left by an agent that ended; watched until `signal` aborts. */
export async function findContainerd(
  configFile: string,
  signal: AbortSignal,
): Promise<ContainerdProcess | undefined> {
  const [pid] = await findProcesses((argv) => isContainerd(argv, configFile));
  return pid === undefined ? undefined : { pid, exited: pollUntilGone(pid, configFile, signal) };
}

/** Asks it to end; kills it when it does not. */
export async function endContainerd(pid: number, configFile: string): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    signalProcess(pid, signal);
    while (Date.now() < deadline) {
      if (!(await isAlive(pid, configFile))) return;
      await sleep(CONNECT_RETRY_MS);
    }
  }
  throw new Error(`containerd with pid ${pid} does not end, not even when killed`);
}

/** Resolves once the socket takes connections; rejects with the end of its log when containerd ends first. */
export async function waitForSocket(
  containerd: ContainerdProcess,
  paths: ContainerdPaths,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  let gone = false;
  void containerd.exited.then(() => (gone = true));
  const deadline = Date.now() + timeoutMs;
  while (!(await canConnect(paths.socket))) {
    if (gone || Date.now() > deadline) {
      const what = gone ? "ended at once" : `does not answer on ${paths.socket}`;
      throw new Error(`containerd ${what}; its log says: ${await logTail(paths.logFile)}`);
    }
    await sleep(CONNECT_RETRY_MS, signal);
  }
}

/** Empties the log when it has grown too big; containerd appends, so it continues from the start. */
export async function boundLog(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (info) => info.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await truncate(logFile);
}

/** The ids of the processes whose command line matches. */
export async function findProcesses(
  matches: (argv: readonly string[]) => boolean,
): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: number[] = [];
  for (const pid of pids) if (matches(await readArguments(pid))) found.push(pid);
  return found;
}

/** When a process was started; the beginning of time when it is gone. */
export async function startedAtMs(pid: number): Promise<number> {
  const info = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (info === undefined) return 0;
  const uptimeSeconds = Number((await readFile("/proc/uptime", "utf8")).split(" ")[0]);
  const ticks = Number(info.slice(info.lastIndexOf(")") + 2).split(" ")[START_TICKS_FIELD]);
  return Date.now() - (uptimeSeconds - ticks / TICKS_PER_SECOND) * 1000;
}

/** Sends a signal; a process that is gone is fine. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function isContainerd(argv: readonly string[], configFile: string): boolean {
  return basename(argv[0] ?? "") === "containerd" && argv.includes(configFile);
}

/** False when it is gone, only waits to be reaped, or is another process by now. */
async function isAlive(pid: number, configFile: string): Promise<boolean> {
  const info = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const state = info.slice(info.lastIndexOf(")") + 2).charAt(0);
  if (state === "" || state === "Z" || state === "X") return false;
  const argv = await readArguments(pid);
  // One that is just ending has no arguments any more, but still its files.
  return argv.join("") === "" || isContainerd(argv, configFile);
}

/** A process' command line; empty when it is gone. */
export async function readArguments(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return text.split("\0");
}

async function pollUntilGone(pid: number, configFile: string, signal: AbortSignal): Promise<void> {
  while (await isAlive(pid, configFile)) {
    // Not watched any more is not gone.
    if (signal.aborted) await new Promise(() => undefined);
    await sleep(POLL_MS, undefined, { keepsAlive: false });
  }
}

function containerdEnvironment(): NodeJS.ProcessEnv {
  const sbin = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const environment: NodeJS.ProcessEnv = { PATH: `${process.env["PATH"] ?? ""}:${sbin}` };
  for (const name of PROXY_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

function canConnect(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function logTail(logFile: string): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  const lines = text.trim().split("\n").slice(-LOG_TAIL_LINES);
  return lines.join("\n") || "nothing";
}
