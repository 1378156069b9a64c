import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  write,
} from "node:fs";
import { join, normalize } from "node:path";
import { promisify } from "node:util";
import { Semaphore } from "../../lib/semaphore.ts";
import { timeoutSignal } from "../../lib/timers.ts";

const reclaimTimeoutMs = 60_000;
const reclaiming = new Semaphore(1);
const writeAsync: (fd: number, text: string) => Promise<unknown> = promisify(write);

/** Limits of memory, and where what they limit is counted. */
const usageFiles: ReadonlyMap<string, string> = new Map([
  ["memory.limit_in_bytes", "memory.usage_in_bytes"],
  ["memory.max", "memory.current"],
  ["memory.high", "memory.current"],
]);

/** One value for one file of a cgroup. */
export interface CgroupSetting {
  readonly file: string;
  readonly value: string;
  /** Not every kernel has the file. */
  readonly optional?: boolean;
}

/** The path if it is the root or below it; anything else is refused. */
export function insideRoot(path: string, root: string): string {
  const isInside = path === root || path.startsWith(`${root}/`);
  if (!isInside || normalize(path) !== path || path.includes("\0")) {
    throw new Error(`cgroup ${path} is not inside ${root}: it is not Berth's to change`);
  }
  return path;
}

/** Why no pods can lie below this cgroup: a root holds only what is Berth's. Undefined when they can. */
export function cgroupRootProblem(root: string): string | undefined {
  const isPlain = root.startsWith("/") && normalize(root) === root && !root.endsWith("/");
  if (isPlain && !root.includes("\0")) return undefined;
  return `cgroup root ${root} must be an absolute path below / without a slash at its end`;
}

export function checkedRoot(root: string): string {
  const problem = cgroupRootProblem(root);
  if (problem !== undefined) throw new Error(problem);
  return root;
}

/** Writes those that differ from what is in force; returns what the kernel refused. */
export async function writeSettings(
  folder: string,
  settings: readonly CgroupSetting[],
): Promise<string[]> {
  const refused: string[] = [];
  for (const { file, value, optional } of settings) {
    if (isInForce(folder, file, value)) continue;
    const isSlow = mustReclaim(folder, file, value);
    const path = join(folder, file);
    const error = await (isSlow ? writeReclaiming(path, value) : tryWrite(path, value));
    if (error === undefined || (optional === true && error === "ENOENT")) continue;
    refused.push(`cannot write ${value} to ${path}: ${error}`);
  }
  return refused;
}

/** Reading costs a tenth of what handing a write to another thread does, and most limits are set again unchanged. */
function isInForce(folder: string, file: string, value: string): boolean {
  try {
    return readSetting(folder, file) === value;
  } catch {
    // Some can only be written.
    return false;
  }
}

/** Whether the kernel will free memory before the write returns, which can take seconds. */
function mustReclaim(folder: string, file: string, value: string): boolean {
  const usageFile = usageFiles.get(file);
  if (usageFile === undefined || !/^\d+$/.test(value)) return false;
  try {
    return BigInt(readSetting(folder, usageFile)) > BigInt(value);
  } catch {
    return true;
  }
}

/**
 * One at a time: the thread that reclaims is one of few that serve all files and name look-ups of the process. What takes too
 * long is reported as refused; the kernel continues with it, and the next waits for it.
 */
async function writeReclaiming(path: string, value: string): Promise<string | undefined> {
  const timeout = timeoutSignal(reclaimTimeoutMs);
  const tooLong = `the kernel did not free enough memory within ${reclaimTimeoutMs / 1000} s`;
  let leave: () => void;
  try {
    leave = await reclaiming.enter(timeout);
  } catch {
    return tooLong;
  }
  const written = tryWrite(path, value).finally(leave);
  const late = new Promise<string>((resolve) => {
    timeout.addEventListener("abort", () => resolve(tooLong), { once: true });
  });
  return await Promise.race([written, late]);
}

/** Writes, in another thread, to a file that exists; returns the error's code. */
export async function tryWrite(path: string, value: string): Promise<string | undefined> {
  try {
    // Never O_CREAT: the kernel would answer a missing file by "permission denied".
    const file = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      await writeAsync(file, value);
    } finally {
      closeSync(file);
    }
    return undefined;
  } catch (error) {
    return errorCode(error);
  }
}

export function readSetting(folder: string, file: string): string {
  return readFileSync(join(folder, file), "utf8").trim();
}

/** The names of the folders in a folder; empty when it is not there. */
export function childFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** The processes of a cgroup and of those below; one of another PID namespace has no number here. */
export function processesIn(folder: string): number[] {
  let text = "";
  try {
    text = readSetting(folder, "cgroup.procs");
  } catch (error) {
    // A threaded cgroup of v2 lists its processes at its parent.
    if (!isGone(error) && errorCode(error) !== "EOPNOTSUPP") throw error;
  }
  const own = text.split("\n").map(Number);
  const below = childFolders(folder).flatMap((name) => processesIn(join(folder, name)));
  return [...own, ...below].filter((pid) => pid > 0);
}

/** Removes a cgroup and those below; returns whether all are gone. */
export function removeFolders(folder: string): boolean {
  const children = childFolders(folder).map((name) => removeFolders(join(folder, name)));
  return !children.includes(false) && removeFolder(folder);
}

/** Removes a cgroup without any below it and without processes; returns whether it is gone. */
export function removeFolder(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (isGone(error)) return true;
    const code = errorCode(error);
    if (code === "EBUSY" || code === "ENOTEMPTY") return false;
    throw error;
  }
}

/** A cgroup can end between two reads. */
export function isGone(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENODEV";
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
