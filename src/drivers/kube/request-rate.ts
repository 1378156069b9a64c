import { sleep } from "../../lib/timers.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { untilAborted } from "../../lib/until-aborted.ts";

/** How many requests may be made per second, and how many at once beyond that. */
export interface RequestRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Lets requests go in the order in which they came, no faster than the rate. */
export class RequestGate {
  readonly #bucket: TokenBucket;
  readonly #stepMs: number;
  #last: Promise<void> = Promise.resolve();

  constructor({ perSecond, burst }: RequestRate) {
    this.#bucket = new TokenBucket(perSecond, burst);
    this.#stepMs = Math.max(1, Math.ceil(1000 / perSecond));
  }

  /** Resolves when it is this caller's turn. */
  pass(signal: AbortSignal): Promise<void> {
    const turn = this.#last.then(() => this.#take(signal));
    this.#last = turn.catch(() => undefined);
    return untilAborted(turn, signal);
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (!this.#bucket.tryTake(performance.now())) {
      await sleep(this.#stepMs, signal);
    }
  }
}
