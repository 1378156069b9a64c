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

  constructor(dice: Dice, clock: Clock) {
    this.#dice = dice;
    this.#clock = clock;
  }

  readonly intercept: SimInterceptor = async (method, phase, signal) => {
    if (this.isDown) throw new RuntimeError(method, "Unavailable", "connection refused");
    if (phase === "before") await this.#delay(method, signal);
    if (!this.#dice.chance(this.rate)) return;
    const fault = this.#dice.pick(["fail", "fail", "time-out", "hang"]);
    if (phase === "before" && fault === "fail") {
      throw new RuntimeError(method, "Unknown", "injected failure");
    }
    // The work is done, but the answer is lost.
    if (phase === "after" && fault === "time-out") {
      throw new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
    }
    if (fault === "hang") await this.#clock.sleep(this.#dice.between(5, 150) * 1000, signal);
  };

  async #delay(method: string, signal: AbortSignal): Promise<void> {
    const ms = changing.test(method) ? this.#dice.between(5, 300) : this.#dice.below(8);
    if (ms > 0) await this.#clock.sleep(ms, signal);
  }
}
