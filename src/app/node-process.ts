// A node that belongs to a program: it runs in a process of its own and ends with that program, however the program ends.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { FromNode, NodeOrder, ToNode } from "./node-order.ts";
import { leftProblems, removeDataDir } from "./remove-data-dir.ts";

/** Lines of the log that are kept for the message of a node that ends by itself. */
const keptLines = 20;

export interface NodeProcessOptions {
  /** `nodeProgram`, or a build of it elsewhere. */
  readonly program: string;
  readonly order: NodeOrder;
}

export class NodeProcess {
  readonly #options: NodeProcessOptions;
  readonly #child: ChildProcess;
  readonly #logListeners: ((line: string) => void)[] = [];
  readonly #lastLines: string[] = [];
  /** Its last words; undefined where it was killed. */
  #farewell: Extract<FromNode, { kind: "ended" }> | undefined;
  #stopped: { readonly isRemoval: boolean; readonly done: Promise<void> } | undefined;
  /** What went wrong; undefined = it ended as it was asked to. Never rejects. */
  readonly ended: Promise<string | undefined>;
  readonly #ready: Promise<void>;

  /** Starts the process. */
  constructor(options: NodeProcessOptions) {
    const { program, order } = options;
    this.#options = options;
    this.#child = fork(program, [], {
      // A session of its own: Ctrl-C on the program's terminal is for the program, which ends the node in its own way.
      detached: true,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // What the program was started with, such as a loader or a debugger, is not for the agent.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const { promise, resolve } = deferred();
    this.#ready = promise;
    this.ended = this.#untilEnded(resolve);
    this.#readLog();
    this.#send({ kind: "start", order });
  }

  /** Calls back with every line of the agent's log from now on, a JSON object. */
  followLog(onLine: (line: string) => void): void {
    this.#logListeners.push(onLine);
  }

  /** Resolves when the node's API answers; rejects when it ends before. From then on the program does not wait for it. */
  async untilReady(): Promise<void> {
    const problem = await Promise.race([
      this.#ready.then(() => undefined),
      this.ended.then((text) => text ?? "it was stopped"),
    ]);
    if (problem !== undefined) throw new Error(problem);
    this.#child.unref();
    this.#child.channel?.unref();
    if (this.#child.stderr !== null && "unref" in this.#child.stderr) {
      (this.#child.stderr as { unref(): void }).unref();
    }
  }

  /**
   * Ends the node; with `remove`, and always where it is temporary, nothing of it stays on the machine. Safe to repeat.
   * Rejects with what went wrong.
   */
  stop(remove: boolean): Promise<void> {
    const isRemoval = remove || this.#options.order.isTemporary;
    if (this.#stopped === undefined) this.#stopped = { isRemoval, done: this.#stop(isRemoval) };
    else if (isRemoval && !this.#stopped.isRemoval) {
      this.#stopped = { isRemoval, done: this.#removeAfter(this.#stopped.done) };
    }
    return this.#stopped.done;
  }

  async #removeAfter(stopped: Promise<void>): Promise<void> {
    // What went wrong there was said to who asked for it.
    await stopped.catch(() => undefined);
    const problem = await this.#removeRest();
    if (problem !== undefined) throw new Error(problem);
  }

  async #stop(isRemoval: boolean): Promise<void> {
    const { order } = this.#options;
    this.#child.ref();
    this.#child.channel?.ref();
    this.#send({ kind: "stop", remove: isRemoval });
    await this.ended;
    const problems = [this.#farewell?.problem];
    // What it would have done at its end is done by another one.
    if (isRemoval && this.#farewell?.hasRemoved !== true) {
      problems.push(await this.#removeRest());
    }
    const [problem, ...more] = problems.filter((text) => text !== undefined);
    const isRemoved = problem === undefined || order.node.kind === "simulated";
    if (order.isTemporary && isRemoved) await removeDataDir(order.node.dataDir);
    if (problem === undefined) return;
    // Volumes may be mounted in what a failed removal has left: nothing of that is touched.
    const left = order.isTemporary ? leftProblems(order.node.dataDir) : [];
    throw new Error([problem, ...more, ...left].join("; then "));
  }

  #removeRest(): Promise<string | undefined> {
    const order = { ...this.#options.order, isRemovalOnly: true };
    const remover = new NodeProcess({ ...this.#options, order });
    for (const listener of this.#logListeners) remover.followLog(listener);
    return remover.ended;
  }

  #send(message: ToNode): void {
    // It may have ended a moment ago.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  async #untilEnded(onReady: () => void): Promise<string | undefined> {
    let last: FromNode | undefined;
    this.#child.on("message", (message: FromNode) => {
      last = message;
      if (message.kind === "ready") onReady();
    });
    try {
      const [code, signal] = await once(this.#child, "close");
      if (last?.kind === "ended") {
        this.#farewell = last;
        return last.problem;
      }
      const how = typeof signal === "string" ? `by ${signal}` : `with exit code ${code}`;
      return [`the process of the node ended ${how}`, ...this.#lastLines].join("\n");
    } catch (error) {
      return `the process of the node cannot be started: ${String(error)}`;
    }
  }

  #readLog(): void {
    if (this.#child.stderr === null) return;
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#lastLines.push(line);
      if (this.#lastLines.length > keptLines) this.#lastLines.shift();
      for (const listener of this.#logListeners) listener(line);
    });
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
