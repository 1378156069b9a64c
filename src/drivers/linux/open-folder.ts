// Files reached through open folders: a path is looked up once, and what was opened stays the same folder whatever
// becomes of its name. Node has no openat; /proc/self/fd/N/name is the same lookup.
import { constants, type FileHandle, open, readFile } from "node:fs/promises";
import { errorCode } from "./volume-error.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** Opens the place alone, without asking its file system, which may hang. Node does not list it. */
const O_PATH = 0o10000000;

/** An open folder, or with `openEntry` anything else. */
export interface OpenEntry extends AsyncDisposable {
  readonly handle: FileHandle;
  /** Leads to the open file itself. */
  readonly path: string;
}

/** Opens a folder of the agent's own; its last component must not be a link. */
export async function openFolder(path: string): Promise<OpenEntry> {
  return wrap(await open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW));
}

/** Opens a folder below another; rejects with ELOOP or ENOTDIR when it is a link or no folder. */
export async function openFolderIn(parent: OpenEntry, name: string): Promise<OpenEntry> {
  return openFolder(childPath(parent, name));
}

/** Opens whatever a folder holds under a name, a link as the link itself, without touching it. */
export async function openEntryIn(parent: OpenEntry, name: string): Promise<OpenEntry> {
  return wrap(await open(childPath(parent, name), O_PATH | O_NOFOLLOW));
}

/** The path of a name in an open folder: no other folder can be put in its place. */
export function childPath(parent: OpenEntry, name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw new Error(`${JSON.stringify(name)} is not a file name`);
  }
  return `${parent.path}/${name}`;
}

/** The mount that an open file was reached by: bind mounts of one file system differ too. */
export async function mountId({ handle }: OpenEntry): Promise<string> {
  const info = await readFile(`/proc/self/fdinfo/${handle.fd}`, "utf8");
  return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? "";
}

/** Resolves to undefined where there is nothing. */
export async function unlessAbsent<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function wrap(handle: FileHandle): OpenEntry {
  return {
    handle,
    path: `/proc/self/fd/${handle.fd}`,
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
