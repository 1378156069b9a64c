import type { FreezeReport } from "../../ports/watchdog.ts";

/**
 * Judges whether the agent stands still. Observations are counted, not time: while the machine sleeps there are none, so a
 * suspended machine does not count as a standstill.
 */
export class Standstill {
  readonly #limitMs: number;
  readonly #lookMs: number;
  #ticks = -1;
  #turns = 0;
  #threadStillMs = 0;
  #loopStillMs = 0;

  /** `limitMs`: how long the thread may do nothing, and the sync loop take for one turn. */
  constructor(limitMs: number, lookMs: number) {
    this.#limitMs = limitMs;
    this.#lookMs = lookMs;
  }

  look(seen: {
    readonly ticks: number;
    readonly turns: number;
  }): Pick<FreezeReport, "kind" | "stillMs"> | undefined {
    this.#threadStillMs = seen.ticks === this.#ticks ? this.#threadStillMs + this.#lookMs : 0;
    // Before its first turn the loop has not begun.
    const isSame = seen.turns === this.#turns && seen.turns !== 0;
    this.#loopStillMs = isSame ? this.#loopStillMs + this.#lookMs : 0;
    this.#ticks = seen.ticks;
    this.#turns = seen.turns;
    if (this.#threadStillMs >= this.#limitMs) {
      return { kind: "thread", stillMs: this.#threadStillMs };
    }
    // A thread that stands still holds up its loop: which of them it is shows at the next look.
    const isThreadRunning = this.#threadStillMs === 0;
    if (this.#loopStillMs < this.#limitMs || !isThreadRunning) return undefined;
    return { kind: "loop", stillMs: this.#loopStillMs };
  }
}
