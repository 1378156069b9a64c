import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { startTimer } from "../lib/timers.ts";

/** File systems exist on which no notification ever comes. */
const recheckMs = 1000;

/** Wakes a reader when something in the folder of a file changes; in any case once a second. */
export class FileChanges implements Disposable {
  readonly #watcher: FSWatcher | undefined;
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(path: string) {
    try {
      this.#watcher = watch(dirname(path), { persistent: false }, () => this.#notify());
      this.#watcher.on("error", () => this.#notify());
    } catch {
      this.#watcher = undefined;
    }
  }

  /** Resolves at the next change since the last call, after a second, or when `signal` aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (!this.#changed && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          timer.stop();
          signal.removeEventListener("abort", done);
          this.#wake = undefined;
          resolve();
        };
        const timer = startTimer(recheckMs, done);
        signal.addEventListener("abort", done);
        this.#wake = done;
      });
    }
    this.#changed = false;
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  #notify(): void {
    this.#changed = true;
    this.#wake?.();
  }
}
