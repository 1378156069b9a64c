import { lstatSync, readFileSync } from "node:fs";
import {
  constants,
  type FileHandle,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
} from "node:fs/promises";
import { errorText } from "../../lib/error-text.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import { errorCode } from "./volume-error.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** More than any file of the agent's own; what others put there must not fill its memory. */
const maxTextBytes = 32 * 1024 * 1024;

/** The files of this machine. */
export const hostFiles: HostFiles = {
  ensureFolder,
  writeFile: (path, data, mode) =>
    replaceFile(path, mode, async (file) => {
      await file.writeFile(data);
      await file.datasync();
    }),
  writeBriefly: (path, data, mode) => replaceFile(path, mode, (file) => file.writeFile(data)),
  overwrite,
  readTail,
  readText: async (path) => {
    const data = await readTail(path, maxTextBytes + 1);
    if (data === undefined) return undefined;
    if (data.length > maxTextBytes) {
      throw new Error(`${path} is larger than ${maxTextBytes} bytes`);
    }
    return new TextDecoder().decode(data);
  },
  realPath: (path) => absentAs(realpath(path), undefined),
  list: async (path) => absentAs(readdir(path), []),
  symlink: async (target, path) => {
    const beside = temporaryName(path);
    await symlink(target, beside);
    await moveOver(beside, path);
  },
  removeFile: (path) => absentAs(unlink(path), undefined),
  removeEntry,
  appendLine: async (path, line, mode) => {
    const file = await openRegular(path, O_WRONLY | O_APPEND | O_CREAT, mode);
    try {
      // One write call, so that lines of several writers do not mix.
      await file.write(`${line}\n`);
    } finally {
      await file.close();
    }
  },
};

async function removeEntry(path: string): Promise<void> {
  try {
    return await absentAs(unlink(path), undefined);
  } catch (error) {
    if (errorCode(error) !== "EISDIR") throw error;
  }
  try {
    await absentAs(rmdir(path), undefined);
  } catch (error) {
    // Node's text is its code, the reason, and the call.
    const text = errorText(error);
    const end = text.lastIndexOf(", rmdir");
    const reason = end === -1 ? text : text.slice(text.indexOf(": ") + 2, end);
    throw new Error(`remove ${path}: ${reason}`, { cause: error });
  }
}

/** Most are there: a look in this thread costs a tenth of one in another (docs/adr/0013). */
async function ensureFolder(path: string, mode: number): Promise<void> {
  const isThere = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isThere) await mkdir(path, { recursive: true, mode });
  const info = lstatSync(path);
  if (!info.isDirectory()) throw new Error(`${path} is not a folder`);
  if ((info.mode & 0o7777) === mode) return;
  // The process' umask may have taken bits away.
  const folder = await open(path, O_RDONLY | O_NOFOLLOW | constants.O_DIRECTORY);
  try {
    await folder.chmod(mode);
  } finally {
    await folder.close();
  }
}

async function replaceFile(
  path: string,
  mode: number,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const beside = temporaryName(path);
  const file = await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    if ((mode & umask()) !== 0) await file.chmod(mode);
    await write(file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await moveOver(beside, path);
}

async function overwrite(path: string, data: Uint8Array | string, mode: number): Promise<void> {
  const bytes = Buffer.from(data);
  const file = await openRegular(path, O_WRONLY | O_CREAT, mode);
  try {
    if ((mode & umask()) !== 0) await file.chmod(mode);
    // Cut last: a reader never finds it empty.
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, written, undefined, written);
      written += bytesWritten;
    }
    await file.truncate(bytes.length);
  } finally {
    await file.close();
  }
}

async function moveOver(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    await rm(from, { force: true });
    throw error;
  }
}

async function readTail(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  const file = await absentAs(openRegular(path, O_RDONLY, 0), undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - maxBytes);
    const buffer = Buffer.alloc(size - start);
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, start + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  } finally {
    await file.close();
  }
}

/** Opens without following a link and without waiting for a pipe's other end. */
async function openRegular(path: string, flags: number, mode: number): Promise<FileHandle> {
  const file = await open(path, flags | O_NOFOLLOW | O_NONBLOCK, mode);
  const info = await file.stat();
  if (info.isFile()) return file;
  await file.close();
  throw new Error(`${path} is not a regular file`);
}

let knownUmask: number | undefined;

/** The permissions that this process does not give away; nothing here changes them. */
function umask(): number {
  // process.umask() would set it to read it, and files made meanwhile would be open to everybody.
  const status = (): string => readFileSync("/proc/self/status", "utf8");
  knownUmask ??= Number.parseInt(/^Umask:\s*([0-7]+)/m.exec(status())?.[1] ?? "777", 8);
  return knownUmask;
}

let written = 0;

function temporaryName(path: string): string {
  written += 1;
  return `${path}.${process.pid}-${written}.tmp`;
}

async function absentAs<T, Absent>(action: Promise<T>, absent: Absent): Promise<T | Absent> {
  try {
    return await action;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return absent;
    throw error;
  }
}
