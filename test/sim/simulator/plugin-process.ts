import { onAbort } from "../../../src/lib/on-abort.ts";
import type { RuntimeErrorCode } from "../../../src/model/runtime-error.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Dice } from "./dice.ts";
import type { PluginFaults } from "./plugin-faults.ts";

export interface PluginProcessDeps {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly faults: PluginFaults;
  /** For how long its callers wait. */
  readonly deadlineMs: number;
  /** What its callers get. */
  readonly error: (code: RuntimeErrorCode, text: string) => Error;
}

/** The process of a plugin, which answers calls. It may die and come back at any time. */
export class PluginProcess {
  readonly #deps: PluginProcessDeps;
  #death: AbortController | undefined;

  constructor(deps: PluginProcessDeps) {
    this.#deps = deps;
  }

  /** Aborts when it dies; undefined while it does not run. */
  get death(): AbortSignal | undefined {
    return this.#death?.signal;
  }

  get isUp(): boolean {
    return this.#death !== undefined;
  }

  start(): void {
    this.#death ??= new AbortController();
  }

  /** Calls that have no answer get none. */
  die(): void {
    this.#death?.abort();
    this.#death = undefined;
  }

  /** As a client of gRPC: the caller waits no longer than the deadline, the plugin goes on. */
  send<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, deadlineMs, error } = this.#deps;
    return new Promise((resolve, reject) => {
      const fail = (code: RuntimeErrorCode, text: string): void => {
        stop();
        reject(error(code, text));
      };
      const timer = clock.startTimer(deadlineMs, () =>
        fail("DeadlineExceeded", "context deadline exceeded"),
      );
      const release = onAbort(signal, () => fail("Cancelled", "context canceled"));
      const stop = (): void => {
        timer.stop();
        release();
      };
      work().finally(stop).then(resolve, reject);
    });
  }

  /** Does the work, unless something goes wrong: before it, or after. */
  async mayFail<T>(work: () => Promise<T>): Promise<T> {
    const { faults, dice, error } = this.#deps;
    const { death } = this;
    if (death === undefined) throw this.#unavailable();
    const fault = faults.next();
    await this.#pass(dice.between(2, 60), death, undefined);
    if (fault?.kind === "refused") throw error(fault.code, "injected failure");
    if (fault?.kind === "hung") {
      await this.#pass(fault.forMs, death, faults.released);
      if (!fault.isDone) throw error("Cancelled", "context canceled");
    }
    const isLate = death.aborted;
    // It may die just before, or just after.
    if (isLate && dice.chance(0.5)) throw this.#unavailable();
    const answer = await work();
    if (isLate) throw this.#unavailable();
    if (fault?.kind === "lost") throw error(fault.code, "the answer is lost");
    return answer;
  }

  /** Ends early when the plugin dies, or when what hangs goes on. */
  async #pass(ms: number, death: AbortSignal, released: AbortSignal | undefined): Promise<void> {
    const signal = released === undefined ? death : AbortSignal.any([death, released]);
    await this.#deps.clock.sleep(ms, signal).catch(() => undefined);
  }

  #unavailable(): Error {
    return this.#deps.error("Unavailable", "connection refused");
  }
}
