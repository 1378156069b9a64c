import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { errorText } from "../../lib/error-text.ts";
import { SetupError } from "../../lib/setup-error.ts";
import { flock } from "./flock.ts";

/** A file that this process has locked. */
export interface LockFile {
  /** Whether another process waits for the lock. */
  isWanted(): boolean;
  release(): void;
}

/** Makes the file if it is absent and locks it, once no other process has it. */
export async function holdLockFile(path: string, signal: AbortSignal): Promise<LockFile> {
  const fd = openLockFile(path);
  try {
    await flock(fd, { path, waits: true }, signal);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  const { dev, ino } = fstatSync(fd);
  const place = `${hex(majorOf(dev))}:${hex(minorOf(dev))}:${ino}`;
  return {
    isWanted: () => isAwaited(readFileSync("/proc/locks", "utf8"), place),
    release: () => closeSync(fd),
  };
}

function openLockFile(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK, 0o600);
  } catch (error) {
    throw new SetupError(
      `unable to acquire file lock on "${path}": ${errorText(error)}`,
      "correct --lock-file",
      { cause: error },
    );
  }
}

/** Whether the kernel's list of locks has one that waits for this file, named by device and inode. */
export function isAwaited(locks: string, place: string): boolean {
  return locks.split("\n").some((line) => {
    const [, arrow, kind, , , , where] = line.split(/ +/);
    return arrow === "->" && kind === "FLOCK" && where === place;
  });
}

function hex(value: number): string {
  return value.toString(16).padStart(2, "0");
}

// As makedev(3) packs them; the numbers of a device file system are below 2^32.
function majorOf(dev: number): number {
  return (dev >> 8) & 0xfff;
}

function minorOf(dev: number): number {
  return (dev & 0xff) | ((dev >> 12) & 0xfff00);
}
