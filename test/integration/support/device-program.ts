import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { clusterProgram } from "../../cluster/support/cluster-programs.ts";

/** One of tools/cluster/device-programs: it takes commands and reports by lines of text, and dies with the tests. */
export class DeviceProgram {
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
  }

  /** Resolves when it is ready. */
  static async start(
    args: readonly string[],
    onReport: (line: string) => void,
  ): Promise<DeviceProgram> {
    const command = [clusterProgram("device-programs"), ...args];
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command]);
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (errors += text));
    const lines = createInterface({ input: child.stdout });
    await new Promise<void>((resolve, reject) => {
      lines.on("line", (line) => {
        if (line === "ready") resolve();
        else onReport(line);
      });
      child.once("close", () => reject(new Error(`${args[0]} has ended: ${errors}`)));
    });
    return new DeviceProgram(child);
  }

  send(command: string): void {
    this.#child.stdin.write(`${command}\n`);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    this.#child.kill(signal);
    await closed;
  }
}
