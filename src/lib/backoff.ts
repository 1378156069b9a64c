export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

interface BackoffOptions extends BackoffLimits {
  /** Adds up to this share of each delay by chance, so that many who failed together do not come back together. */
  readonly jitter?: { readonly share: number; readonly random: () => number };
  /** When no delay was asked for in this time, the next one is the first again. */
  readonly quiet?: { readonly ms: number; readonly nowMs: () => number };
}

/** The delay after `delayMs`: twice as long up to the limit; undefined = none before. */
export function nextDelayMs(
  delayMs: number | undefined,
  { initialMs, maxMs }: BackoffLimits,
): number {
  return delayMs === undefined ? initialMs : Math.min(delayMs * 2, maxMs);
}

/** The delay after so many failures in a row, at least one. */
export function delayAfterMs(failures: number, { initialMs, maxMs }: BackoffLimits): number {
  return Math.min(initialMs * 2 ** (failures - 1), maxMs);
}

/** The delay with up to `share` of it added by `random` (from 0 to 1). */
export function withJitter(delayMs: number, share: number, random: number): number {
  return delayMs * (1 + share * random);
}

/** How long to wait before each try after a failure. */
export class Backoff {
  readonly #options: BackoffOptions;
  #delayMs: number | undefined;
  #askedAtMs: number | undefined;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The delay of this failure; that of the next one is twice as long. */
  nextMs(): number {
    const { jitter, quiet } = this.#options;
    const nowMs = quiet?.nowMs() ?? 0;
    if (quiet !== undefined && nowMs - (this.#askedAtMs ?? nowMs) > quiet.ms) this.reset();
    this.#askedAtMs = nowMs;
    this.#delayMs = nextDelayMs(this.#delayMs, this.#options);
    return jitter === undefined
      ? this.#delayMs
      : withJitter(this.#delayMs, jitter.share, jitter.random());
  }

  /** It went well: the next delay is the first one again. */
  reset(): void {
    this.#delayMs = undefined;
  }
}
