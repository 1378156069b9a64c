// What is on the disk of a volume manager's world, beside the agent's own files.
import type { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { SimForeignFiles } from "../../src/drivers/sim/sim-foreign-files.ts";
import type { SimMounts } from "../../src/drivers/sim/sim-mounts.ts";
import type { SimPayloadFiles } from "../../src/drivers/sim/sim-payload-files.ts";
import type { BlockDevices, LoopDevice } from "../../src/ports/block-devices.ts";
import type { Commands } from "../../src/ports/commands.ts";
import type { FileKind } from "../../src/ports/foreign-files.ts";

/** Paths below the agent's folder are there if a file, folder or link is. */
export class WorldFiles extends SimForeignFiles {
  readonly #files: MemoryFiles;

  constructor(files: MemoryFiles, payloads: SimPayloadFiles, mounts: SimMounts) {
    super({
      payloads,
      mounts,
      readEnd: (path, maxBytes) => files.readTail(path, maxBytes),
      removeTree: (path) => files.removeTree(path),
      disk: () => {
        throw new Error("not part of these vectors");
      },
    });
    this.#files = files;
  }

  override async kindOf(path?: string): Promise<FileKind | undefined> {
    return path === undefined || this.#files.has(path) ? "directory" : undefined;
  }

  override realPath(path: string): Promise<string | undefined> {
    return this.#files.realPath(path);
  }
}

/** Devices are plain files here; what holds them is a list. */
export class MemoryBlockDevices implements BlockDevices, Commands {
  readonly #files: MemoryFiles;
  #loops: readonly LoopDevice[] = [];

  constructor(files: MemoryFiles) {
    this.#files = files;
  }

  async entryAt(path: string): Promise<"link" | "file" | undefined> {
    if (this.#files.links.has(path)) return "link";
    return this.#files.has(path) ? "file" : undefined;
  }

  async deviceNumber(): Promise<undefined> {}

  async deviceNodes(): Promise<readonly string[]> {
    return [];
  }

  async loopDevices(): Promise<readonly LoopDevice[]> {
    return this.#loops;
  }

  async run([, option, path = ""]: readonly string[]): Promise<{
    exitCode: number;
    output: string;
  }> {
    const others = this.#loops.filter(({ device }) => device !== path);
    const loop = { device: `/dev/loop-of${path}`, backingFile: path };
    this.#loops = option === "-d" ? others : [...this.#loops, loop];
    return { exitCode: 0, output: "" };
  }
}
