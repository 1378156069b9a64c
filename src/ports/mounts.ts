import type { MountArguments } from "../lib/mount-arguments.ts";
import type { MountEntry } from "../lib/mount-info.ts";
import type { Result } from "../lib/result.ts";

export interface VolumeMount extends MountArguments {
  /** Otherwise in a scope of systemd's own where systemd runs: what the mount starts outlives the agent. */
  readonly withoutSystemd: boolean;
}

/**
 * The node's mounts. The programs that do the work are given a time limit, so a file system that does not answer
 * fails the call and never blocks the agent; what fails is rejected with a message that names the path.
 */
export interface Mounts {
  /** Every mount there is, in the order of mounting. Asks no mounted file system. */
  list(): Promise<readonly MountEntry[]>;
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
  /** Mounts a volume; a bind gets its other options, and the restrictions of its source, by a remount. The error is a kubelet's. */
  mount(mount: VolumeMount, signal: AbortSignal): Promise<Result<void, string>>;
  /**
   * Unmounts a volume with data behind it: one that is busy stays mounted, and the error says so. With `forceAfterMs` it is
   * unmounted by force when it does not answer for so long.
   */
  unmountVolume(
    target: string,
    options: { readonly forceAfterMs?: number },
    signal: AbortSignal,
  ): Promise<Result<void, string>>;
  /** Whether `unmountVolume` is fine with what is not mounted, which need not be looked up then. */
  ignoresUnmounted(signal: AbortSignal): Promise<boolean>;
}
