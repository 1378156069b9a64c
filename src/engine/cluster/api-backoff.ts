import type { Clock } from "../../ports/clock.ts";

export interface ApiBackoffLimits {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Without failures for so long, the next delay is the first one again. */
  readonly resetMs: number;
}

export const defaultBackoff: ApiBackoffLimits = {
  firstMs: 800,
  longestMs: 30_000,
  resetMs: 120_000,
};

/** How long to leave an API server alone that did not answer: doubling, and each time up to twice as long by chance. */
export class ApiBackoff {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #random: () => number;
  readonly #limits: ApiBackoffLimits;
  #nextMs: number;
  #lastAtMs: number;

  constructor(
    clock: Pick<Clock, "monotonicMs">,
    random: () => number,
    limits: ApiBackoffLimits = defaultBackoff,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#limits = limits;
    this.#nextMs = limits.firstMs;
    this.#lastAtMs = clock.monotonicMs();
  }

  nextMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const { firstMs, longestMs, resetMs } = this.#limits;
    if (nowMs - this.#lastAtMs > resetMs) this.#nextMs = firstMs;
    this.#lastAtMs = nowMs;
    const baseMs = this.#nextMs;
    this.#nextMs = Math.min(longestMs, baseMs * 2);
    return baseMs * (1 + this.#random());
  }
}
