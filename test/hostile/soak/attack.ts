import { setTimeout as delay } from "node:timers/promises";

/** Does the same thing over and over until it is disposed of; what goes wrong for the attacker is its own affair. */
export class Attack implements AsyncDisposable {
  readonly name: string;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #attempts = 0;

  constructor(name: string, pauseMs: number, attempt: (signal: AbortSignal) => Promise<void>) {
    this.name = name;
    this.#running = this.#run(pauseMs, attempt);
  }

  summary(): string {
    return `${this.name} ${this.#attempts}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(pauseMs: number, attempt: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await attempt(signal).catch(() => undefined);
      this.#attempts += 1;
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
