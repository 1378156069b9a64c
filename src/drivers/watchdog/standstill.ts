import type { FreezeReport } from "../../ports/watchdog.ts";

export interface StandstillLimits {
  /** How long the thread may do nothing. */
  readonly threadMs: number;
  /** How long the sync loop may take for one turn while the thread runs. */
  readonly loopMs: number;
}

/**
 * Judges whether the agent stands still. Looks are counted, not time: while the machine sleeps nobody looks, and whoever was not
 * looking has seen nobody stand.
 */
export class Standstill {
  readonly #limits: StandstillLimits;
  readonly #lookMs: number;
  #ticks = -1;
  #turns = 0;
  #threadStillMs = 0;
  #loopStillMs = 0;

  constructor(limits: StandstillLimits, lookMs: number) {
    this.#limits = limits;
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
    const { threadMs, loopMs } = this.#limits;
    if (this.#threadStillMs >= threadMs) return { kind: "thread", stillMs: this.#threadStillMs };
    if (this.#loopStillMs >= loopMs) return { kind: "loop", stillMs: this.#loopStillMs };
    return undefined;
  }
}
