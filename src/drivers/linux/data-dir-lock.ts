import { closeSync, constants, fchmodSync, fstatSync, openSync, statSync } from "node:fs";
import { mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SetupError } from "../../lib/setup-error.ts";
import { flock } from "./flock.ts";

/** A data folder that this process alone uses, until it releases it or ends in whatever way. */
export interface LockedDataDir {
  /** Without links. */
  readonly path: string;
  release(): Promise<void>;
}

const lockFileName = "agent.lock";
export const pidFileName = "agent.pid";
/** What is in a folder only while it is locked. */
export const lockFiles: readonly string[] = [lockFileName, pidFileName];

/** Makes the folder if it is absent and locks it; throws, naming the owner, when another agent has it. */
export async function lockDataDir(dataDir: string): Promise<LockedDataDir> {
  if (!dataDir.startsWith("/") || /[,:\p{Cc}]/u.test(dataDir)) {
    throw new SetupError(
      `data folder ${JSON.stringify(dataDir)} cannot be used`,
      "give an absolute path without comma, colon and control characters",
    );
  }
  await mkdir(dataDir, { recursive: true, mode: 0o750 });
  const path = await realpath(dataDir);
  const lockFile = join(path, lockFileName);
  const pidFile = join(path, pidFileName);
  const held = await takeLock(lockFile);
  if (held === undefined) {
    const owner = (await readFile(pidFile, "utf8").catch(() => "unknown")).trim();
    throw new SetupError(
      `data folder ${path} is in use by the agent with pid ${owner}`,
      "stop that agent or choose another data folder",
    );
  }
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o644 });
  return {
    path,
    release: async () => {
      await rm(pidFile, { force: true });
      // While it is held: a process that opened this file meanwhile finds, once it has the lock, that the path is not this file's.
      await rm(lockFile, { force: true });
      closeSync(held);
    },
  };
}

/**
 * The descriptor that holds the lock; undefined when another process holds it. The kernel drops a lock of flock(2) with the last
 * descriptor of its open file, so a killed agent leaves none, and only who may open the file can take it.
 */
async function takeLock(lockFile: string): Promise<number | undefined> {
  for (;;) {
    // Not a FileHandle: one without references is closed.
    const fd = openLockFile(lockFile);
    try {
      if (!(await flock(fd, { path: lockFile, waits: false }))) {
        closeSync(fd);
        return undefined;
      }
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    if (isStillAt(lockFile, fd)) return fd;
    closeSync(fd);
  }
}

function openLockFile(lockFile: string): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(lockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  // Reading is enough to lock a file: no other user may open it, whatever mode it was restored or copied with.
  fchmodSync(fd, 0o600);
  return fd;
}

/** The previous owner removes the file when it releases it: a lock on a removed file locks nothing. */
function isStillAt(lockFile: string, fd: number): boolean {
  const ours = fstatSync(fd, { bigint: true });
  const found = statSync(lockFile, { bigint: true, throwIfNoEntry: false });
  return found?.ino === ours.ino && found.dev === ours.dev;
}
