import { Semaphore } from "./semaphore.ts";

/** A semaphore for each key, kept while it is held or waited for. */
export class KeyedSemaphore {
  readonly #holders: number;
  readonly #byKey = new Map<string, { readonly semaphore: Semaphore; users: number }>();

  constructor(holders: number) {
    this.#holders = holders;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Resolves, once there is room, to the function that leaves again; rejects when `signal` aborts first. */
  async enter(key: string, signal: AbortSignal): Promise<() => void> {
    const entry = this.#byKey.get(key) ?? { semaphore: new Semaphore(this.#holders), users: 0 };
    this.#byKey.set(key, entry);
    entry.users += 1;
    const forget = (): void => {
      entry.users -= 1;
      if (entry.users === 0) this.#byKey.delete(key);
    };
    try {
      const leave = await entry.semaphore.enter(signal);
      return () => {
        leave();
        forget();
      };
    } catch (error) {
      forget();
      throw error;
    }
  }
}
