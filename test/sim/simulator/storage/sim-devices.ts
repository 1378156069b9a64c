import type { MemoryFiles } from "../../../../src/drivers/sim/memory-files.ts";
import type { SimMounts } from "../../../../src/drivers/sim/sim-mounts.ts";
import { simDevices } from "../../../../src/drivers/sim/sim-storage.ts";
import type { BlockDevices, LoopDevice } from "../../../../src/ports/block-devices.ts";
import type { Commands } from "../../../../src/ports/commands.ts";
import type { DeviceTree } from "../../../../src/ports/device-tree.ts";

/** The raw devices that drivers publish, the mounts that bind them, and the loop devices that hold them. */
export class SimDevices {
  readonly #files: MemoryFiles;
  readonly #mounts: SimMounts;
  /** Device numbers by path. */
  readonly #nodes = new Map<string, string>();
  #loops: readonly LoopDevice[] = [];

  constructor(files: MemoryFiles, mounts: SimMounts) {
    this.#files = files;
    this.#mounts = mounts;
  }

  /** A driver makes a device there. */
  add(path: string, number: string): void {
    this.#nodes.set(path, number);
  }

  remove(path: string): void {
    this.#nodes.delete(path);
  }

  /** What is held by a loop device. */
  get held(): readonly string[] {
    return this.#loops.map(({ backingFile }) => backingFile);
  }

  /** As the agent looks at them. */
  get port(): DeviceTree & BlockDevices {
    return {
      ...simDevices,
      entryAt: async (path) => {
        if (this.#loops.some(({ device }) => device === path)) return "device";
        if (this.#numberOf(path) !== undefined && !this.#files.links.has(path)) return "device";
        if (this.#files.links.has(path)) return "link";
        if ((await this.#files.list(path)).length > 0) return "folder";
        return this.#files.has(path) ? "file" : undefined;
      },
      deviceNumber: async (path) => this.#numberOf((await this.#files.realPath(path)) ?? path),
      loopDevices: () => Promise.resolve(this.#loops),
    };
  }

  /** losetup, which is all that the agent runs here. */
  get commands(): Commands {
    return {
      run: ([, option, path = ""]) => {
        const others = this.#loops.filter(({ device }) => device !== path);
        const loop = { device: `/dev/loop-of${path}`, backingFile: path };
        this.#loops = option === "-d" ? others : [...this.#loops, loop];
        return Promise.resolve({ exitCode: 0, output: "" });
      },
    };
  }

  /** That of the device itself, or of the one that is bound over a file. */
  #numberOf(path: string): string | undefined {
    return this.#nodes.get(this.#mounts.sourceOf(path) ?? path);
  }
}
