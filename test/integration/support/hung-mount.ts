import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";

// A file system whose server takes every request and answers none but the first, which greets the kernel. A process that reads
// it cannot be killed as long as the server lives.
const server = `
  const { execFileSync } = require("node:child_process");
  const { openSync, readSync, writeSync } = require("node:fs");
  const fd = openSync("/dev/fuse", "r+");
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
  execFileSync("mount", ["-i", "-t", "fuse", "-o", options, "hung", process.argv[1]], {
    stdio: ["ignore", "inherit", "inherit", fd],
  });
  const request = Buffer.alloc(1024 * 1024);
  const isGreeting = () => request.readUInt32LE(4) === 26;
  for (;;) {
    readSync(fd, request);
    if (!isGreeting()) continue;
    const answer = Buffer.alloc(16 + 64);
    answer.writeUInt32LE(answer.length, 0);
    request.copy(answer, 8, 8, 16);
    answer.writeUInt32LE(7, 16);
    answer.writeUInt32LE(31, 20);
    answer.writeUInt32LE(65536, 36);
    writeSync(fd, answer);
    writeSync(1, "mounted");
  }
`;

/** A mount at a path whose server never answers. */
export class HungMount implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  readonly #ended: Promise<unknown>;

  private constructor(path: string) {
    // It dies with the test, also when that is killed.
    const args = ["--pdeathsig", "KILL", "--", process.execPath, "-e", server, path];
    this.#child = spawn("setpriv", args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", resolve);
    });
  }

  static async at(path: string): Promise<HungMount> {
    mkdirSync(path, { recursive: true });
    const mount = new HungMount(path);
    await new Promise<void>((resolve, reject) => {
      mount.#child.stdout?.once("data", () => resolve());
      mount.#child.once("close", () => reject(new Error(`cannot mount ${path}`)));
    });
    return mount;
  }

  /** Whether there is a server that does not answer. */
  get isServed(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Processes that still wait for an answer get an error. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
