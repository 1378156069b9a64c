// Files reached through open folders: a path is looked up once, and what was opened stays the same folder whatever
// becomes of its name. Node has no openat; /proc/self/fd/N/name is the same lookup.
import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { errorCode } from "../volume-error.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** Opens the place alone, without asking its file system, which may hang. Node does not list it. */
const O_PATH = 0o10000000;

/** An open folder, or with `openEntryIn` anything else. */
export interface OpenEntry extends Disposable {
  readonly fd: number;
  /** Leads to the open file itself. */
  readonly path: string;
}

/**
 * A file name as the kernel has it, one character per byte: containers choose names that are not UTF-8, and a file whose
 * name was changed by decoding cannot be found again.
 */
export type ByteName = string;

/** Opens a folder; its last component must not be a link. */
export function openFolder(path: string | Buffer): OpenEntry {
  return open(path, O_DIRECTORY | O_NOFOLLOW);
}

/** Opens a folder that people named, by links too. */
export function openNamedFolder(path: string): OpenEntry {
  return open(path, O_DIRECTORY);
}

/** Opens whatever lies at a path, a link as the link itself, without touching it. */
export function openEntry(path: string | Buffer): OpenEntry {
  return open(path, O_NOFOLLOW);
}

/** The same folder, open a second time. */
export function openAgain(folder: OpenEntry): OpenEntry {
  return open(`${folder.path}/.`, O_NOFOLLOW);
}

/** The path of a name in an open folder: no other folder can be put in its place. */
export function childPath(parent: OpenEntry, name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw new Error(`${JSON.stringify(name)} is not a file name`);
  }
  return `${parent.path}/${name}`;
}

/** As childPath, for a name that was read from a folder. */
export function bytePath(parent: OpenEntry, name: ByteName): Buffer {
  return Buffer.from(childPath(parent, name), "latin1");
}

export function textOf(name: ByteName): string {
  return Buffer.from(name, "latin1").toString();
}

export function bytesOf(name: string): ByteName {
  return Buffer.from(name).toString("latin1");
}

/** The mount that an open file was reached by: bind mounts of one file system differ too. */
export function mountId({ fd }: OpenEntry): string {
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, "latin1");
  return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? "";
}

/** Undefined where there is nothing. */
export function unlessAbsent<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function open(path: string | Buffer, flags: number): OpenEntry {
  const fd = openSync(path, O_PATH | flags);
  return { fd, path: `/proc/self/fd/${fd}`, [Symbol.dispose]: () => closeSync(fd) };
}
