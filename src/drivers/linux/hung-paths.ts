import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { findMountOf, type MountEntry } from "../../lib/mount-info.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { RecentMounts, readMountsNow } from "./mount-table.ts";

/** Each is a process that cannot be ended; more of them would exhaust the machine. */
const maxAbandoned = 64;

/** File systems with a server behind them: when one path of such a mount hangs, they all do. */
const servedFileSystem =
  /^(fuse|nfs|cifs|smb|ceph|9p|afs|autofs|virtiofs|lustre|gfs2|ocfs2|beegfs)/;

/** Something that would hang again. */
export class HungPathError extends Error {}

interface Abandoned {
  /** Or the text of a command, whose arguments may be secret. */
  readonly path: string;
  /** Stands for it in errors. */
  readonly shown: string;
  /** The mount that the path is on, where that has a server; a later mount at the same place has another id. */
  readonly mount: MountEntry | undefined;
  readonly sinceMs: number;
}

/** Who works at a place, and who waits for that. */
interface Turns {
  readonly semaphore: Semaphore;
  users: number;
}

/**
 * Sees to it that at most one process hangs at any place: one works there at a time, and while one that was killed because
 * it did not answer still exists, as it hangs in the kernel, no other is sent after it.
 */
export class HungPaths {
  readonly #abandoned = new Map<ChildProcess, Abandoned>();
  /** By the id of a served mount, or by path. */
  readonly #turns = new Map<string, Turns>();
  readonly #mounts = new RecentMounts();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Works at a path while no other call does, there or elsewhere on the same served mount. Rejects at once when something
   * hangs there, or on a path above it.
   */
  async inTurn<T>(path: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    // On a mount of this second two may work at once, each at a path of its own.
    const mount = servedMountOf(await this.#mounts.listAbove(path), path);
    this.#check(path, mount);
    const place = mount?.id ?? path;
    const turns = this.#turns.get(place) ?? { semaphore: new Semaphore(1), users: 0 };
    this.#turns.set(place, turns);
    turns.users += 1;
    try {
      const leave = await turns.semaphore.enter(signal);
      try {
        // The call before this one may have got stuck.
        this.#check(path, mount);
        return await work();
      } finally {
        leave();
      }
    } finally {
      turns.users -= 1;
      if (turns.users === 0) this.#turns.delete(place);
    }
  }

  #check(path: string, mount: MountEntry | undefined): void {
    for (const one of this.#abandoned.values()) {
      const isSameMount = mount !== undefined && mount.id === one.mount?.id;
      if (!isSameMount && path !== one.path && !path.startsWith(join(one.path, "/"))) continue;
      throw new HungPathError(`the file system of ${path} does not answer (since ${timeOf(one)})`);
    }
    if (this.#abandoned.size < maxAbandoned) return;
    const [first] = this.#abandoned.values();
    throw new HungPathError(
      `cannot read ${path}: ${this.#abandoned.size} processes hang on file systems that do not answer, one of them at ${first?.shown}`,
    );
  }

  /** For a command that reads nothing foreign: throws while the same one hangs. `shown` stands for it in the error. */
  checkCommand(text: string, shown: string): void {
    for (const one of this.#abandoned.values()) {
      if (one.path === text) throw new HungPathError(`${shown} hangs (since ${timeOf(one)})`);
    }
  }

  /** Kills a process that does not answer about a path, and remembers it until it has really ended. */
  abandon(child: ChildProcess, path: string, shown: string = path): void {
    child.kill("SIGKILL");
    // Nothing of it keeps the agent from ending.
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const mount = servedMountOf(readMountsNow(), path);
    this.#abandoned.set(child, { path, shown, mount, sinceMs: this.#nowMs() });
    child.once("exit", () => this.#abandoned.delete(child));
  }
}

function timeOf({ sinceMs }: Abandoned): string {
  return new Date(sinceMs).toISOString();
}

function servedMountOf(mounts: readonly MountEntry[], path: string): MountEntry | undefined {
  const mount = findMountOf(mounts, path);
  return mount !== undefined && servedFileSystem.test(mount.fileSystem) ? mount : undefined;
}
