import { Semaphore } from "../../lib/semaphore.ts";
import { startTimer, type Timer } from "../../lib/timers.ts";
import { HelperProcess } from "./helper-process.ts";
import type { HungPaths } from "./hung-paths.ts";

/** A burst finds a started helper; an agent with nothing to read has none. */
const idleMs = 5000;

/** How many helpers work at once on each kind of task: long walks never keep a starting pod waiting. */
const atOnce = { look: 4, measure: 3, removal: 3 };

/** The processes that read foreign files: started when they are needed, ended when they are idle. */
export class ForeignHelpers {
  readonly hungPaths: HungPaths;
  readonly #program: string;
  readonly #turns = {
    look: new Semaphore(atOnce.look),
    measure: new Semaphore(atOnce.measure),
    removal: new Semaphore(atOnce.removal),
  };
  /** Those without work, the last one used last, each with the timer that ends it. */
  readonly #idle: { readonly helper: HelperProcess; readonly timer: Timer }[] = [];

  /** `program` is the bundled foreign/main.ts. */
  constructor(program: string, hungPaths: HungPaths) {
    this.#program = program;
    this.hungPaths = hungPaths;
  }

  /** Does some work with a helper of its own; rejects at once when something hangs where the path leads. */
  async use<T>(
    kind: keyof typeof atOnce,
    path: string,
    work: (helper: HelperProcess) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const withHelper = async (): Promise<T> => {
      const leave = await this.#turns[kind].enter(signal);
      const helper = this.#take();
      try {
        return await work(helper);
      } finally {
        this.#giveBack(helper);
        leave();
      }
    };
    // A request that waits for a place waits without a helper.
    return await this.hungPaths.inTurn(path, withHelper, signal);
  }

  #take(): HelperProcess {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      idle.timer.stop();
      if (idle.helper.isUsable) return idle.helper;
    }
    return new HelperProcess(this.#program, this.hungPaths);
  }

  #giveBack(helper: HelperProcess): void {
    if (!helper.isUsable) return;
    const end = (): void => {
      const index = this.#idle.findIndex((one) => one.helper === helper);
      this.#idle.splice(index, 1);
      helper.end();
    };
    const timer = startTimer(idleMs, end, { keepsAlive: false });
    this.#idle.push({ helper, timer });
  }
}
