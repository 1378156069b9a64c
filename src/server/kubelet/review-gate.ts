import { LruMap } from "../../lib/lru-map.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

const maxInFlight = 8;
const maxWaiting = 64;
/** A client has few tokens, each of which is reviewed every few minutes. */
const perSecond = 10;
const burst = 50;
const maxAddresses = 1024;

/** There are too many tokens to review: from this address, or from all together. */
export class TooManyReviews extends Error {
  constructor() {
    super("too many tokens to review");
  }
}

/** Keeps strangers with made-up tokens from flooding the API server, and from holding up others. */
export class ReviewGate {
  readonly #monotonicMs: () => number;
  readonly #room = new Semaphore(maxInFlight);
  readonly #addresses = new LruMap<string, TokenBucket>(maxAddresses);
  #entered = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Reviews when it is this token's turn; rejects with TooManyReviews when it is not to wait. */
  async run<T>(address: string, review: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const bucket = this.#addresses.get(address) ?? new TokenBucket(perSecond, burst);
    this.#addresses.set(address, bucket);
    const isFull = this.#entered >= maxInFlight + maxWaiting;
    if (isFull || !bucket.tryTake(this.#monotonicMs())) throw new TooManyReviews();
    this.#entered++;
    try {
      const leave = await this.#room.enter(signal);
      try {
        return await review();
      } finally {
        leave();
      }
    } finally {
      this.#entered--;
    }
  }
}
