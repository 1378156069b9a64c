import type { MountEntry } from "../lib/mount-info.ts";

/** The part of a volume that a container is to see. */
export interface SubPathBind {
  readonly volumePath: string;
  /** Below the volume; missing folders are made. */
  readonly subPath: string;
  readonly target: string;
}

/** Where the binding of a sub path failed, which decides what people are told. */
export type SubPathFailure = {
  readonly code: "create" | "prepare";
  /** For the log: it may tell of files outside the volume. */
  readonly message: string;
};

/**
 * The node's mounts. The programs that do the work are given a time limit, so a file system that does not answer
 * fails the call and never blocks the agent; what fails is rejected with a message that names the path.
 */
export interface Mounts {
  /** The mounts at or below a folder, in the order in which they can be unmounted. Asks no mounted file system. */
  listBelow(folder: string): Promise<readonly MountEntry[]>;
  isMountPoint(path: string): Promise<boolean>;
  /** The memory is bounded by `sizeBytes`, or by the kernel's default when undefined. */
  mountTmpfs(path: string, sizeBytes: bigint | undefined, signal: AbortSignal): Promise<void>;
  /** A page size as the kernel's mount option takes it, such as 2Mi. */
  mountHugePages(path: string, pageSize: string, signal: AbortSignal): Promise<void>;
  /** A mount that is busy or does not answer is detached instead: it goes away when its last user does. */
  unmount(path: string, signal: AbortSignal): Promise<void>;
  /**
   * Opens the sub path one component at a time, never by a link that leads out of the volume, and binds what was opened
   * to the target. What is bound there already stays if it is the same.
   */
  bindSubPath(bind: SubPathBind, signal: AbortSignal): Promise<SubPathFailure | undefined>;
}
