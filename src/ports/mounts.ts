import type { MountEntry } from "../lib/mount-info.ts";

/**
 * The node's mounts. The programs that do the work are given a time limit, so a file system that does not answer
 * fails the call and never blocks the agent; what fails is rejected with a message that names the path.
 */
export interface Mounts {
  /** The mounts at or below a folder of the agent's own, in the order in which they can be unmounted. Asks no mounted file system. */
  listBelow(folder: string): Promise<readonly MountEntry[]>;
  isMountPoint(path: string): Promise<boolean>;
  /** The memory is bounded by `sizeBytes`, or by the kernel's default when undefined. */
  mountTmpfs(path: string, sizeBytes: bigint | undefined, signal: AbortSignal): Promise<void>;
  /** A page size as the kernel's mount option takes it, such as 2Mi. */
  mountHugePages(path: string, pageSize: string, signal: AbortSignal): Promise<void>;
  /**
   * Unmounts what `listBelow` names. A mount that is busy or does not answer is detached instead: it goes away when its
   * last user does.
   */
  unmount(mountPoint: string, signal: AbortSignal): Promise<void>;
}
