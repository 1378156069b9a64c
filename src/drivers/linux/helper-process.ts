import { type ChildProcess, spawn } from "node:child_process";
import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { startTimer, type Timer } from "../../lib/timers.ts";
import type { Operations } from "./foreign/operations.ts";
import type { HungPaths } from "./hung-paths.ts";

const newline = 0x0a;
const maxStderrBytes = 4096;

/** Enough for any walk: none of them remembers what it has seen. */
const maxHeapMebibytes = 48;

/** Nothing of the agent's. Limits stand here because an executable with a Node of its own takes no flags of Node. */
const environment = {
  NODE_OPTIONS: `--max-old-space-size=${maxHeapMebibytes} --max-semi-space-size=1`,
};

/** What one call may take. */
export interface CallLimits {
  /** The path that is read. */
  readonly path: string;
  /** The helper reports every second that it is working; when it has been silent for this long, it hangs. */
  readonly silenceMs: number;
  /** How long it may take though it is working. */
  readonly totalMs?: number | undefined;
  /** Called every second with the steps that were done. */
  readonly onProgress?: ((steps: number) => void) | undefined;
}

/** An operation failed; the helper is well. */
class ForeignFileError extends Error {
  /** The system's name of the error. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

interface Answer {
  readonly isWorking?: boolean;
  readonly steps?: number;
  readonly value?: unknown;
  readonly error?: string;
  readonly code?: string;
}

interface Call {
  readonly onAnswer: (answer: Answer) => void;
  readonly onEnd: (error: Error) => void;
}

/** One process that carries out operations on foreign files, one at a time; see foreign/main.ts. */
export class HelperProcess {
  readonly #child: ChildProcess;
  readonly #hungPaths: HungPaths;
  #call: Call | undefined;
  #received: Buffer[] = [];
  #stderr = "";
  #isGone = false;

  /** `program` is what this process' own executable is started with. */
  constructor(program: string, hungPaths: HungPaths) {
    this.#hungPaths = hungPaths;
    this.#child = spawn(
      process.execPath,
      [program],
      // A session of its own: what is typed at a terminal is for the agent, which closes the input when it ends.
      { stdio: ["pipe", "pipe", "pipe"], cwd: "/", env: environment, detached: true },
    );
    const { stdin, stdout, stderr } = this.#child;
    stdout?.on("data", (chunk: Buffer) => this.#onData(chunk));
    stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk.toString()}`.slice(-maxStderrBytes);
    });
    // "close" reports its end, too.
    stdin?.on("error", () => undefined);
    this.#child.once("error", (error) => this.#onEnd(errorText(error)));
    this.#child.once("close", (code, signal) =>
      this.#onEnd(this.#stderr.trim() || `exit ${signal ?? code}`),
    );
    this.#setRef(false);
  }

  /** False when it cannot be used any more. */
  get isUsable(): boolean {
    return !this.#isGone;
  }

  /**
   * Rejects when the operation fails, and when the helper is silent for too long or `signal` aborts; then it is killed and
   * left behind.
   */
  async call<Name extends keyof Operations>(
    operation: Name,
    args: Parameters<Operations[Name]>,
    { path, silenceMs, totalMs, onProgress }: CallLimits,
    signal: AbortSignal,
  ): Promise<ReturnType<Operations[Name]>> {
    signal.throwIfAborted();
    if (this.#isGone) throw new Error(`the helper for ${path} has ended`);
    let silence: Timer | undefined;
    let total: Timer | undefined;
    let abandon: (() => void) | undefined;
    this.#setRef(true);
    try {
      const answer = await new Promise<Answer>((resolve, reject) => {
        const giveUp = (reason: unknown): void => {
          this.#isGone = true;
          this.#hungPaths.abandon(this.#child, path);
          reject(reason);
        };
        const onSilence = (): void => {
          const text = `${operation} gave no answer within ${silenceMs / 1000} s`;
          giveUp(new Error(`the file system of ${path} does not answer (${text})`));
        };
        silence = startTimer(silenceMs, onSilence);
        if (totalMs !== undefined) {
          const text = `${operation} of ${path} did not end within ${totalMs / 1000} s`;
          total = startTimer(totalMs, () => giveUp(new Error(text)));
        }
        abandon = () => giveUp(signal.reason);
        signal.addEventListener("abort", abandon, { once: true });
        const onAnswer = (answer: Answer): void => {
          if (answer.isWorking !== true) return resolve(answer);
          onProgress?.(answer.steps ?? 0);
          silence?.stop();
          silence = startTimer(silenceMs, onSilence);
        };
        this.#call = { onAnswer, onEnd: reject };
        this.#child.stdin?.write(`${JSON.stringify({ operation, arguments: args })}\n`);
      });
      if (answer.error !== undefined) throw new ForeignFileError(answer.error, answer.code ?? "");
      return answer.value as ReturnType<Operations[Name]>;
    } finally {
      silence?.stop();
      total?.stop();
      if (abandon !== undefined) signal.removeEventListener("abort", abandon);
      this.#call = undefined;
      this.#setRef(false);
    }
  }

  /** It ends by itself when nothing more can come. */
  end(): void {
    this.#isGone = true;
    this.#child.stdin?.end();
  }

  #onData(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      const line = Buffer.concat([...this.#received, rest.subarray(0, end)]).toString();
      this.#received = [];
      rest = rest.subarray(end + 1);
      this.#call?.onAnswer(parseJsonText(line) as Answer);
    }
    if (rest.length > 0) this.#received.push(rest);
  }

  #onEnd(reason: string): void {
    this.#isGone = true;
    this.#call?.onEnd(new Error(`the helper for foreign files ended: ${reason}`));
  }

  /** An idle helper does not keep the agent from ending. */
  #setRef(isBusy: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const handle of [this.#child, stdin, stdout, stderr]) setRef(handle, isBusy);
  }
}

function setRef(handle: unknown, isBusy: boolean): void {
  const { ref, unref } = handle as { ref?: () => void; unref?: () => void };
  (isBusy ? ref : unref)?.call(handle);
}
