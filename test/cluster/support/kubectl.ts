import { type ChildProcess, spawn } from "node:child_process";

/** How a command ended, and what it said. */
export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const timeoutMs = 90_000;

/** A kubectl command that is still under way. */
export class KubectlProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  readonly ended: Promise<KubectlResult>;
  #stdout = "";
  #stderr = "";

  constructor(command: readonly [string, ...string[]], kubeconfig: string) {
    const [program, ...args] = command;
    this.#child = spawn(program, args, {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      stdio: "pipe",
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
      this.#wake();
    });
    // It may end before it has read all.
    this.#child.stdin?.on("error", () => undefined);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
        this.#wake();
      });
    });
  }

  get output(): string {
    return this.#stdout + this.#stderr;
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<KubectlResult> {
    this.#child.kill(signal);
    return this.ended;
  }

  /** Resolves once what was printed is as wanted; rejects when it ends or too much time passes before. */
  async untilPrinted(isThere: (output: string) => boolean, withinMs = 30_000): Promise<void> {
    const timeout = AbortSignal.timeout(withinMs);
    while (!isThere(this.output)) {
      const hasEnded = this.#child.exitCode !== null || this.#child.signalCode !== null;
      if (hasEnded || timeout.aborted) {
        const what = timeout.aborted ? "did not print it in time" : "has ended";
        throw new Error(`${this.#child.spawnargs.join(" ")} ${what}:\n${this.output}`);
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

/** kubectl of the cluster's own release, as one user. */
export class Kubectl {
  readonly #program: string;
  readonly #kubeconfig: string;

  constructor(program: string, kubeconfig: string) {
    this.#program = program;
    this.#kubeconfig = kubeconfig;
  }

  /** Starts a command. */
  start(...args: readonly string[]): KubectlProcess {
    return new KubectlProcess([this.#program, ...args], this.#kubeconfig);
  }

  /** Starts a command on a terminal of its own; its arguments must need no quoting. */
  startOnTerminal(...args: readonly string[]): KubectlProcess {
    const line = [this.#program, ...args].join(" ");
    return new KubectlProcess(["script", "-qec", line, "/dev/null"], this.#kubeconfig);
  }

  /** Runs a command to its end, however it ends. */
  attempt(...args: readonly string[]): Promise<KubectlResult> {
    const command = this.start(...args);
    command.endInput();
    return command.ended;
  }

  /** What a command that succeeds prints. */
  async run(...args: readonly string[]): Promise<string> {
    return this.#checked(args, await this.attempt(...args));
  }

  /** Applies objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const args = ["apply", "--server-side", "-f", "-"];
    const command = this.start(...args);
    command.write(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    command.endInput();
    this.#checked(args, await command.ended);
  }

  #checked(args: readonly string[], { code, stdout, stderr }: KubectlResult): string {
    if (code === 0) return stdout;
    throw new Error(`kubectl ${args.join(" ")} failed (${code}):\n${stdout}${stderr}`);
  }
}
