import type { MountEntry } from "../../lib/mount-info.ts";
import type { Mounts } from "../../ports/mounts.ts";

/** Mounts in memory. */
export class SimMounts implements Mounts {
  readonly #mounts = new Map<string, string>();

  /** Every mount point there is. */
  get paths(): readonly string[] {
    return [...this.#mounts.keys()];
  }

  listBelow(folder: string): Promise<readonly MountEntry[]> {
    const below = [...this.#mounts]
      .filter(([path]) => path === folder || path.startsWith(`${folder}/`))
      .map(([mountPoint, fileSystem]) => ({
        id: mountPoint,
        mountPoint,
        fileSystem,
        isShared: false,
      }));
    return Promise.resolve(below.toReversed());
  }

  isMountPoint(path: string): Promise<boolean> {
    return Promise.resolve(this.#mounts.has(path));
  }

  mountTmpfs(path: string): Promise<void> {
    return this.#mount(path, "tmpfs");
  }

  mountHugePages(path: string): Promise<void> {
    return this.#mount(path, "hugetlbfs");
  }

  unmount(path: string): Promise<void> {
    this.#mounts.delete(path);
    return Promise.resolve();
  }

  bind(target: string): void {
    this.#mounts.set(target, "bind");
  }

  #mount(path: string, fileSystem: string): Promise<void> {
    this.#mounts.set(path, fileSystem);
    return Promise.resolve();
  }
}
