import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { startTimer } from "../lib/timers.ts";
import { WakeUp } from "../lib/wake-up.ts";

/** File systems exist on which no notification ever comes. */
const recheckMs = 1000;

/** Wakes a reader when something in the folder of a file changes; in any case once a second. */
export class FileChanges implements Disposable {
  readonly #watcher: FSWatcher | undefined;
  readonly #changes = new WakeUp({ startTimer });

  constructor(path: string) {
    try {
      this.#watcher = watch(dirname(path), { persistent: false }, () => this.#changes.notify());
      this.#watcher.on("error", () => this.#changes.notify());
    } catch {
      this.#watcher = undefined;
    }
  }

  /** Resolves at the next change since the last call, after a second, or when `signal` aborts. */
  async next(signal: AbortSignal): Promise<void> {
    await this.#changes.wait(recheckMs, signal);
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }
}
