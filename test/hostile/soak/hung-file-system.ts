import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** A file system whose server never answers. */
export class HungFileSystem {
  readonly path: string;
  readonly #server: FileHandle;

  private constructor(path: string, server: FileHandle) {
    this.path = path;
    this.#server = server;
  }

  static async mount(path: string): Promise<HungFileSystem> {
    mkdirSync(path, { recursive: true });
    const server = await open("/dev/fuse", "r+");
    const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
    execFileSync("mount", ["-i", "-t", "fuse", "-o", options, "hung", path], {
      stdio: ["ignore", "inherit", "inherit", server.fd],
    });
    return new HungFileSystem(path, server);
  }

  /** Processes that still wait for an answer get an error when the server goes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
    try {
      execFileSync("umount", ["--lazy", this.path], { stdio: "ignore" });
    } catch {
      // The agent has taken it off with the volume that it was in.
    }
  }
}
