import { OutlivedCall, type SimInterceptor } from "../../../src/drivers/sim/sim-call-gate.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Dice } from "./dice.ts";

const changing = /^(Run|Stop|Remove|Create|Start|Update|Pull)/;
/** Calls that a runtime may carry out after they timed out. */
const outliving = /^(Run|Stop|Remove|Create|Start)/;
/** When agents give up a call, at the latest. */
const deadlineMs = 120_000;

/** What goes wrong in a runtime: calls are slow, fail, hang, or succeed without an answer. */
export class RuntimeFaults {
  readonly #dice: Dice;
  readonly #clock: Clock;
  /** How likely any call is to go wrong. */
  rate = 0;
  isDown = false;
  #release = new AbortController();
  #dropped = new AbortController();
  #lastFaultMs = Number.NEGATIVE_INFINITY;

  constructor(dice: Dice, clock: Clock) {
    this.#dice = dice;
    this.#clock = clock;
  }

  /** Nothing has gone wrong since then. */
  isFaultlessSince(sinceMs: number): boolean {
    return this.#lastFaultMs < sinceMs && !this.isDown;
  }

  readonly intercept: SimInterceptor = (method, phase, signal) => {
    if (this.isDown) {
      this.#lastFaultMs = this.#clock.monotonicMs();
      throw new RuntimeError(method, "Unavailable", "connection refused");
    }
    const delayMs = phase === "before" ? this.#delayMs(method) : 0;
    if (delayMs === 0) return this.#mayGoWrong(method, phase, signal);
    return this.#clock.sleep(delayMs, signal).then(() => this.#mayGoWrong(method, phase, signal));
  };

  #mayGoWrong(
    method: string,
    phase: "before" | "after",
    signal: AbortSignal,
  ): Promise<void> | undefined {
    if (!this.#dice.chance(this.rate)) return undefined;
    this.#lastFaultMs = this.#clock.monotonicMs();
    const fault = this.#dice.pick(["fail", "fail", "time-out", "hang"]);
    if (phase === "before" && fault === "fail") {
      throw new RuntimeError(method, "Unknown", "injected failure");
    }
    // The work is done, but the answer is lost.
    if (phase === "after" && fault === "time-out") {
      throw new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
    }
    return fault === "hang" ? this.#hang(method, phase, signal) : undefined;
  }

  /** Nothing goes wrong any more, and what hangs goes on. */
  end(): void {
    this.rate = 0;
    this.isDown = false;
    this.#release.abort();
    this.#release = new AbortController();
  }

  /** Who made the calls that hang is dead: the runtime gives them up, or carries them out all the same. */
  dropCalls(): void {
    this.#dropped.abort();
    this.#dropped = new AbortController();
  }

  /** Sometimes longer than any deadline. `phase` "before": the work is still to be done. */
  async #hang(method: string, phase: "before" | "after", signal: AbortSignal): Promise<void> {
    const endMs = this.#clock.monotonicMs() + this.#dice.pick([5, 20, 60, 150, 400]) * 1000;
    const outlives = outliving.test(method) && phase === "before" && this.#dice.chance(0.5);
    const dropped = this.#dropped.signal;
    const released = this.#release.signal;
    const giveUp = AbortSignal.any([signal, released, dropped]);
    await this.#sleepUntil(Math.min(endMs, this.#clock.monotonicMs() + deadlineMs), giveUp);
    if (released.aborted || this.#clock.monotonicMs() >= endMs) return;
    const code = dropped.aborted || signal.aborted ? "Cancelled" : "DeadlineExceeded";
    const answer = new RuntimeError(method, code, `${method} was given up`);
    if (!outlives) throw answer;
    throw new OutlivedCall(answer, this.#sleepUntil(endMs, released));
  }

  async #sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
    const leftMs = Math.max(0, ms - this.#clock.monotonicMs());
    await this.#clock.sleep(leftMs, signal).catch(() => undefined);
  }

  #delayMs(method: string): number {
    return changing.test(method) ? this.#dice.between(5, 300) : this.#dice.below(8);
  }
}
