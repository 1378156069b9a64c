import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { findMountOf, type MountEntry } from "../../lib/mount-info.ts";
import { readMountsNow } from "./mount-table.ts";

/** Each is a process that nobody can end; more of them would exhaust the machine. */
const maxAbandoned = 64;

/** File systems with a server behind them: when one path of such a mount hangs, they all do. */
const servedFileSystem =
  /^(fuse|nfs|cifs|smb|ceph|9p|afs|autofs|virtiofs|lustre|gfs2|ocfs2|beegfs)/;

/** Something that would hang again. */
export class HungPathError extends Error {}

interface Abandoned {
  /** Or the text of a command. */
  readonly path: string;
  /** The mount that the path is on, where that has a server; a later mount at the same place has another id. */
  readonly mount: MountEntry | undefined;
  readonly sinceMs: number;
}

/**
 * The processes that were killed because they did not answer, and still exist because they hang in the kernel. As long as
 * one does, nothing else is sent to the same place: every further one would hang too.
 */
export class HungPaths {
  readonly #abandoned = new Map<ChildProcess, Abandoned>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Throws when something hangs on that path, on one above it, or on the same served mount. */
  check(path: string): void {
    if (this.#abandoned.size === 0) return;
    const mount = servedMountOf(path);
    for (const one of this.#abandoned.values()) {
      const isSameMount = mount !== undefined && mount.id === one.mount?.id;
      if (!isSameMount && path !== one.path && !path.startsWith(join(one.path, "/"))) continue;
      throw new HungPathError(`the file system of ${path} does not answer (since ${timeOf(one)})`);
    }
    if (this.#abandoned.size < maxAbandoned) return;
    const [first] = this.#abandoned.values();
    throw new HungPathError(
      `cannot look at ${path}: ${this.#abandoned.size} processes hang on file systems that do not answer, one of them at ${first?.path}`,
    );
  }

  /** The same for a command that looks at nothing foreign: throws while the same one hangs. */
  checkCommand(text: string): void {
    for (const one of this.#abandoned.values()) {
      if (one.path === text) throw new HungPathError(`${text} hangs (since ${timeOf(one)})`);
    }
  }

  /** Kills a process that does not answer about a path, and remembers it until it has really ended. */
  abandon(child: ChildProcess, path: string): void {
    child.kill("SIGKILL");
    // Nothing of it keeps the agent from ending.
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const abandoned = { path, mount: servedMountOf(path), sinceMs: this.#nowMs() };
    this.#abandoned.set(child, abandoned);
    child.once("exit", () => this.#abandoned.delete(child));
  }
}

function timeOf({ sinceMs }: Abandoned): string {
  return new Date(sinceMs).toISOString();
}

function servedMountOf(path: string): MountEntry | undefined {
  const mount = findMountOf(readMountsNow(), path);
  return mount !== undefined && servedFileSystem.test(mount.fileSystem) ? mount : undefined;
}
