import { request } from "node:http";
import { parentPort, Worker, workerData } from "node:worker_threads";

const askAgainMs = 20;
/** Longer pauses are failures; the machine itself, with all its attackers, takes a part of this. */
const allowedPauseMs = 2_000;

/**
 * How long the agent's own thread takes to answer a small request on its local socket. The asking runs in a thread of its
 * own, so that the attackers' work in this process does not count.
 */
export class LoopWatch implements AsyncDisposable {
  readonly #worker: Worker;
  #longestMs = 0;

  /** `program` calls askTheLoop when it runs in a worker. */
  constructor(program: URL, socketPath: string) {
    this.#worker = new Worker(program, { workerData: socketPath });
    this.#worker.on("message", (tookMs: number) => {
      if (tookMs > this.#longestMs) this.#longestMs = tookMs;
    });
  }

  longestMs(): number {
    return Math.round(this.#longestMs);
  }

  problems(): readonly string[] {
    if (this.#longestMs <= allowedPauseMs) return [];
    return [`the agent's own thread stood still for ${this.longestMs()} ms`];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

/** What the worker does: asks over and over, and posts how long each answer took. */
export function askTheLoop(): void {
  const socketPath = String(workerData);
  const startedMs = performance.now();
  const askAgain = (): void => void setTimeout(askTheLoop, askAgainMs);
  const call = request({ socketPath, path: "/berth/v1/info" }, (response) => {
    response.resume();
    response.once("close", () => {
      parentPort?.postMessage(performance.now() - startedMs);
      askAgain();
    });
  });
  call.once("error", askAgain);
  call.end();
}
