import type { SimInterceptor } from "../../../src/drivers/sim/sim-call-gate.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Dice } from "./dice.ts";

const changing = /^(Run|Stop|Remove|Create|Start|Update|Pull)/;

/** What goes wrong in a runtime: calls are slow, fail, hang, or succeed without anybody hearing of it. */
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

  readonly intercept: SimInterceptor = async (method, phase, signal) => {
    if (this.isDown) {
      this.#lastFaultMs = this.#clock.monotonicMs();
      throw new RuntimeError(method, "Unavailable", "connection refused");
    }
    if (phase === "before") await this.#delay(method, signal);
    if (!this.#dice.chance(this.rate)) return;
    this.#lastFaultMs = this.#clock.monotonicMs();
    const fault = this.#dice.pick(["fail", "fail", "time-out", "hang"]);
    if (phase === "before" && fault === "fail") {
      throw new RuntimeError(method, "Unknown", "injected failure");
    }
    // The work is done, but the answer is lost.
    if (phase === "after" && fault === "time-out") {
      throw new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
    }
    if (fault === "hang") await this.#hang(method, signal);
  };

  /** Nothing goes wrong any more, and what hangs goes on. */
  end(): void {
    this.rate = 0;
    this.isDown = false;
    this.#release.abort();
    this.#release = new AbortController();
  }

  /** Who made the calls that hang is dead: the runtime gives them up, as for any connection that is lost. */
  dropCalls(): void {
    this.#dropped.abort();
    this.#dropped = new AbortController();
  }

  /** Sometimes longer than any deadline. */
  async #hang(method: string, signal: AbortSignal): Promise<void> {
    const seconds = this.#dice.pick([5, 20, 60, 150, 400]);
    const dropped = this.#dropped.signal;
    const any = AbortSignal.any([signal, this.#release.signal, dropped]);
    await this.#clock.sleep(seconds * 1000, any).catch((error: unknown) => {
      if (dropped.aborted) throw new RuntimeError(method, "Cancelled", "context canceled");
      if (signal.aborted) throw error;
    });
  }

  async #delay(method: string, signal: AbortSignal): Promise<void> {
    const ms = changing.test(method) ? this.#dice.between(5, 300) : this.#dice.below(8);
    if (ms > 0) await this.#clock.sleep(ms, signal);
  }
}
