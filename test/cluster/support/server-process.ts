import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

const lastLines = 30;

/** A program that runs until it is stopped, with all it says in a file. It does not outlive the tests' own process. */
export class ServerProcess {
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(command: readonly [string, ...string[]], logFile: string) {
    this.logFile = logFile;
    const log = openSync(logFile, "a");
    // setpriv becomes the program: the process id stays.
    this.#child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command], {
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", () => resolve());
      this.#child.once("error", () => resolve());
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return (
      this.#child.pid !== undefined &&
      this.#child.exitCode === null &&
      this.#child.signalCode === null
    );
  }

  /** Resolves when the process has ended, however that came about. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Sends the signal; resolves when the process has ended. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#child.kill(signal);
    await this.#ended;
  }

  /** The end of what it said. */
  lastWords(): string {
    return readFileSync(this.logFile, "utf8").split("\n").slice(-lastLines).join("\n");
  }
}
