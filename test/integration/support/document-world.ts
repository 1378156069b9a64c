import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { vi } from "vitest";
import { AgentWorld } from "./agent-world.ts";

const program = join(import.meta.dirname, "../../../dist/berth.js");
const patience = { timeout: 120_000, interval: 200 };

/** Where a reader follows a document: a folder of work with `pods` in it, and `berth` and `sudo` on the PATH. */
export class DocumentWorld {
  readonly #world: AgentWorld;
  readonly #work: string;
  #isUp = false;

  private constructor(world: AgentWorld) {
    this.#world = world;
    this.#work = join(world.folder, "work");
    const bin = join(world.folder, "bin");
    for (const folder of [this.#work, bin]) mkdirSync(folder);
    symlinkSync(world.manifests, join(this.#work, "pods"));
    const berth = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
    writeFileSync(join(bin, "berth"), berth, { mode: 0o755 });
    // The tests are root already.
    writeFileSync(join(bin, "sudo"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  }

  static async create(network: number): Promise<DocumentWorld> {
    return new DocumentWorld(await AgentWorld.create(network));
  }

  write(path: string, text: string): void {
    if (path.startsWith("pods/")) this.#world.write(basename(path), text);
    else writeFileSync(join(this.#work, path), text);
  }

  /** `berth up` with what follows it; the folder of manifests is the reader's `pods`. */
  async up(flags: readonly string[] = []): Promise<void> {
    if (this.#isUp) return;
    this.#isUp = true;
    await this.#world.up(...flags);
    await this.#world.importImages();
  }

  /** Until it succeeds: a reader looks again when a pod is not there yet. */
  async run(command: string): Promise<void> {
    const [, flags] = /^(?:sudo )?berth up -f \.\/pods ?(.*)$/.exec(command) ?? [];
    if (flags !== undefined) return await this.up(flags.split(" ").filter((word) => word !== ""));
    if (/^(?:sudo )?berth down$/.test(command)) await this.#stop();
    let last = "";
    const isDone = (): boolean => {
      const { status, stdout, stderr } = this.#shell(command);
      last = `exit ${status}\n${stdout}${stderr}`;
      return status === 0;
    };
    await vi.waitUntil(isDone, patience).catch((error: unknown) => {
      throw new Error(`${command}: ${last}`, { cause: error });
    });
  }

  async close(): Promise<void> {
    await this.#world.close();
  }

  async #stop(): Promise<void> {
    if (this.#isUp) await this.#world.agent.stop("SIGINT");
    this.#isUp = false;
  }

  #shell(command: string) {
    const { dataDir, folder } = this.#world;
    const script = command.replaceAll("/var/lib/berth/", `${dataDir}/`);
    return spawnSync("bash", ["-o", "pipefail", "-c", script], {
      cwd: this.#work,
      encoding: "utf8",
      // A command that does not end would keep even the test's own limit from being noticed.
      timeout: patience.timeout,
      env: {
        ...process.env,
        BERTH_DATA_DIR: dataDir,
        PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
      },
    });
  }
}
