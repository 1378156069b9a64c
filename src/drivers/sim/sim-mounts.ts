import type { MountEntry } from "../../lib/mount-info.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Mounts, VolumeMount } from "../../ports/mounts.ts";

/** Mounts in memory. */
export class SimMounts implements Mounts {
  readonly #mounts = new Map<string, { readonly fileSystem: string; readonly source: string }>();

  /** Every mount point there is. */
  get paths(): readonly string[] {
    return [...this.#mounts.keys()];
  }

  /** What is mounted at a path; undefined when nothing is. */
  sourceOf(path: string): string | undefined {
    return this.#mounts.get(path)?.source;
  }

  list(): Promise<readonly MountEntry[]> {
    const all = [...this.#mounts].map(([mountPoint, { fileSystem, source }]) => ({
      id: mountPoint,
      parentId: "/",
      device: source,
      root: "/",
      mountPoint,
      options: "rw",
      optionalFields: [],
      fileSystem,
      source,
      superOptions: "rw",
    }));
    return Promise.resolve(all);
  }

  async listBelow(folder: string): Promise<readonly MountEntry[]> {
    const isBelow = ({ mountPoint }: MountEntry): boolean =>
      mountPoint === folder || mountPoint.startsWith(`${folder}/`);
    return (await this.list()).filter(isBelow).toReversed();
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

  mount({ source, target, fileSystem }: VolumeMount): Promise<Result<void, string>> {
    // A bind shows what is mounted at its source.
    const { source: device = source } = this.#mounts.get(source) ?? {};
    this.#mounts.set(target, { fileSystem, source: device });
    return Promise.resolve(ok(undefined));
  }

  unmountVolume(target: string): Promise<Result<void, string>> {
    this.#mounts.delete(target);
    return Promise.resolve(ok(undefined));
  }

  ignoresUnmounted(): Promise<boolean> {
    return Promise.resolve(true);
  }

  bind(target: string): void {
    this.#mounts.set(target, { fileSystem: "bind", source: target });
  }

  #mount(path: string, fileSystem: string): Promise<void> {
    this.#mounts.set(path, { fileSystem, source: fileSystem });
    return Promise.resolve();
  }
}
