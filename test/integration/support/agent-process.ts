import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../../..");
const program = join(root, "dist/berth.js");

/** How a command ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Who runs the program, and where it is for them; without an id the test's own user. */
export interface ProgramUser {
  readonly id?: number;
  readonly program: string;
  /** It is an executable of its own, not a file for the Node of the tests. */
  readonly isNative?: boolean;
}

/** A copy of the program in that folder for another user: the repository may not be theirs to read. */
export function programFor(id: number, folder: string): ProgramUser {
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  return { id, program: join(folder, "dist/berth.js") };
}

/** Bundles the command line unless the bundle is as new as its sources. */
export function buildProgram(): void {
  const newestMs = Math.max(...["src", "web"].flatMap(changesBelow));
  if (existsSync(program) && statSync(program).mtimeMs > newestMs) return;
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { cwd: root });
}

/** What keeps an agent in a kubelet's place from the folder of this machine's device plugins, which is the same for all. */
export function ownDevicePlugins(args: readonly string[]): Readonly<Record<string, string>> {
  const flag = "--root-dir=";
  const rootDir = args.find((arg) => arg.startsWith(flag))?.slice(flag.length);
  return rootDir === undefined ? {} : { BERTH_DEVICE_PLUGINS: join(rootDir, "device-plugins") };
}

function changesBelow(folder: string): number[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.map((name) => statSync(join(root, folder, name)).mtimeMs);
}

/** A command of Berth that runs as a process of its own. */
export class BerthProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #stdout = "";
  #stderr = "";
  readonly ended: Promise<Ended>;

  /** `environment` stands beside the test's own. */
  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    user: ProgramUser = { program },
  ) {
    // It dies with the test, also when that is killed. setpriv becomes the program: the process id stays.
    const node = user.isNative === true ? [] : [process.execPath];
    const command = ["--pdeathsig", "KILL", "--", ...node, user.program, ...args];
    this.#child = spawn("setpriv", command, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...ownDevicePlugins(args), ...environment },
      ...(user.id === undefined ? {} : { uid: user.id, gid: user.id }),
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
      this.#wake();
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
        this.#wake();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Sends the signal; resolves when the process has ended. */
  stop(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return this.ended;
  }

  /** Resolves once what was printed is as wanted; rejects when the process ends or too much time passes before. */
  async untilPrinted(
    isThere: (output: { readonly stdout: string; readonly stderr: string }) => boolean,
    timeoutMs = 120_000,
  ): Promise<void> {
    const timeout = AbortSignal.timeout(timeoutMs);
    while (!isThere(this)) {
      if (!this.isRunning || timeout.aborted) {
        const what = timeout.aborted ? "did not print it in time" : "has ended";
        throw new Error(
          `${this.#child.spawnargs.join(" ")} ${what}:\n${this.#stdout}${this.#stderr}`,
        );
      }
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        timeout.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
