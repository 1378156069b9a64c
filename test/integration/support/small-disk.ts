import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTestFolder } from "./test-folder.ts";

/** A file system of its own in a file, so small that a test can fill it. */
export class SmallDisk {
  readonly folder: string;
  readonly #parent: string;

  constructor(mebibytes: number) {
    this.#parent = makeTestFolder("disk");
    const file = join(this.#parent, "disk");
    this.folder = join(this.#parent, "mounted");
    writeFileSync(file, "");
    truncateSync(file, mebibytes * 2 ** 20);
    execFileSync("/sbin/mkfs.ext4", ["-q", "-m", "0", file]);
    mkdirSync(this.folder);
    execFileSync("mount", ["-o", "loop", file, this.folder]);
  }

  get usedPercent(): number {
    const { blocks, bavail } = statfsSync(this.folder);
    return 100 - Math.trunc((bavail * 100) / blocks);
  }

  close(): void {
    execFileSync("umount", [this.folder]);
    rmSync(this.#parent, { recursive: true });
  }
}
