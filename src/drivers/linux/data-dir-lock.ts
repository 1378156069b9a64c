import { spawn } from "node:child_process";
import { closeSync, constants, fchmodSync, fstatSync, openSync, statSync } from "node:fs";
import { mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SetupError } from "../../lib/setup-error.ts";

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

const conflictCode = 1;

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
      if (!(await flock(fd, lockFile))) {
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

/**
 * Node has no flock(2). The lock belongs to the open file, which a child shares: the program locks it and ends, and the lock stays
 * with this process.
 */
function flock(fd: number, lockFile: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["-x", "-n", "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    });
    child.once("error", (cause) => {
      reject(
        new SetupError(
          `cannot lock ${lockFile}: the program flock cannot be run (${cause.message})`,
          "install util-linux",
          { cause },
        ),
      );
    });
    child.once("exit", (code, killedBy) => {
      if (code === 0) resolve(true);
      else if (code === conflictCode) resolve(false);
      else reject(new Error(`cannot lock ${lockFile}: flock ended with ${killedBy ?? code}`));
    });
  });
}
