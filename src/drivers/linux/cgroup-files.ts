import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from "node:fs";
import { join, normalize } from "node:path";

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

/** Writes them all; returns what the kernel refused. */
export function writeSettings(folder: string, settings: readonly CgroupSetting[]): string[] {
  const refused: string[] = [];
  for (const { file, value, optional } of settings) {
    const error = tryWrite(join(folder, file), value);
    if (error === undefined || (optional === true && error === "ENOENT")) continue;
    refused.push(`cannot write ${value} to ${join(folder, file)}: ${error}`);
  }
  return refused;
}

/** Writes to a file that exists; returns the error's code. */
export function tryWrite(path: string, value: string): string | undefined {
  try {
    // Never O_CREAT: the kernel would answer a missing file by "permission denied".
    const file = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      writeSync(file, value);
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
  if (children.includes(false)) return false;
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

/** A cgroup can end between two looks at it. */
export function isGone(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENODEV";
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
