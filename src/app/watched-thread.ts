// A thread that parses what strangers send: started with calls to the agent, watched, and ended when it stands still.
import { MessageChannel, type MessagePort, type ResourceLimits, Worker } from "node:worker_threads";
import { serveCalls, type ThreadCalls } from "../server/thread/thread-calls.ts";
import { progressMs, type ThreadStart } from "../server/thread/thread-start.ts";

/** How many checks without any progress make a working thread count as frozen. */
const maxStandingLooks = 4;
/** The same while it starts: a busy machine may take long to load its program. */
const maxStartingLooks = 24;

export interface ThreadOptions<Calls> {
  readonly name: string;
  /** The program of the thread: where it is, or its text. */
  readonly entry: URL | string;
  readonly resourceLimits: ResourceLimits;
  /** What it is started with, beside what every thread is. */
  readonly data: object;
  readonly calls: Calls;
  /** Calls whose answers are bytes that can be transferred. */
  readonly handedOver: readonly (keyof Calls)[];
}

export class WatchedThread<Calls extends ThreadCalls<Calls>, Event> {
  readonly #worker: Worker;
  readonly #agentPort: MessagePort;
  readonly #progress = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  #reason: Error | undefined;

  constructor({ name, entry, resourceLimits, data, calls, handedOver }: ThreadOptions<Calls>) {
    const { port1, port2 } = new MessageChannel();
    this.#agentPort = port1;
    serveCalls(port1, calls, handedOver);
    const start: ThreadStart = { agentPort: port2, progress: this.#progress };
    this.#worker = new Worker(entry, {
      eval: typeof entry === "string",
      name,
      workerData: { ...data, ...start },
      transferList: [port2],
      resourceLimits,
      // It needs nothing of what the agent was started with.
      env: {},
      execArgv: [],
    });
  }

  send(message: unknown): void {
    this.#worker.postMessage(message);
  }

  /** The first reason that is given counts. */
  end(reason: Error): void {
    this.#reason ??= reason;
    void this.#worker.terminate();
  }

  /** Hands on what the thread reports; its first report says that it works. Resolves to the reason when it has ended; `signal` ends it. */
  async run(onEvent: (event: Event) => void, signal: AbortSignal): Promise<Error> {
    let hasReported = false;
    const worker = this.#worker;
    worker.on("message", (event: Event) => {
      hasReported = true;
      onEvent(event);
    });
    worker.on("error", (error) =>
      this.end(error instanceof Error ? error : new Error(String(error))),
    );
    const stop = (): void => this.end(new Error("the agent stops"));
    const stopWatching = watchProgress(
      new Int32Array(this.#progress),
      () => (hasReported ? maxStandingLooks : maxStartingLooks),
      (looks) => this.end(new Error(`it stood still for ${(looks * progressMs) / 1000} s`)),
    );
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const code = await new Promise<number>((resolve) => worker.once("exit", resolve));
    signal.removeEventListener("abort", stop);
    stopWatching();
    this.#agentPort.close();
    return this.#reason ?? new Error(`it ended with exit code ${code}`);
  }
}

/**
 * Calls back when a number has not changed for so many looks. Looks are counted, not time: an agent that stood still
 * itself looks once when it goes on, and must not end a thread that was well all along.
 */
function watchProgress(
  counter: Int32Array,
  maxLooks: () => number,
  onStanding: (looks: number) => void,
): () => void {
  let seen = -1;
  let looks = 0;
  const timer = setInterval(() => {
    const now = Atomics.load(counter, 0);
    looks = now === seen ? looks + 1 : 0;
    seen = now;
    if (looks >= maxLooks()) onStanding(looks);
  }, progressMs);
  return () => clearInterval(timer);
}
