import { rm } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import type { FreezeReport, Progress, Watchdog } from "../../ports/watchdog.ts";
import { readReport } from "./freeze-file.ts";
import { SharedProgress } from "./shared-progress.ts";

const longestLookMs = 1_000;
const longestTickMs = 5_000;
const looksPerLimit = 4;

export interface WatchdogOptions {
  /** The program of the thread: where it is, or its text. */
  readonly entry: URL | string;
  /** How long the agent may stand still. */
  readonly limitMs: number;
  readonly reportPath: string;
  /** The agent continues unwatched. */
  readonly onFailure: (error: unknown) => void;
}

export interface WatchdogData {
  readonly limitMs: number;
  readonly buffer: SharedArrayBuffer;
  readonly reportPath: string;
  readonly lookMs: number;
}

/** Watches this thread from another one, from its construction until `close`. */
export class ThreadWatchdog implements Watchdog {
  readonly #progress = new SharedProgress();
  readonly #reportPath: string;
  readonly #ticking: NodeJS.Timeout;

  constructor({ entry, reportPath, onFailure, limitMs }: WatchdogOptions) {
    this.#reportPath = reportPath;
    const { buffer } = this.#progress;
    const lookMs = Math.min(longestLookMs, limitMs / looksPerLimit);
    const workerData: WatchdogData = { buffer, reportPath, lookMs, limitMs };
    const worker = new Worker(entry, {
      eval: typeof entry === "string",
      name: "watchdog",
      workerData,
      // It allocates next to nothing.
      resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
      env: {},
      execArgv: [],
    });
    worker.on("error", onFailure);
    worker.unref();
    const tickMs = Math.min(longestTickMs, limitMs / looksPerLimit);
    this.#ticking = setInterval(() => this.#progress.noteTick(), tickMs).unref();
  }

  get progress(): Progress {
    return this.#progress;
  }

  readReport(): Promise<FreezeReport | undefined> {
    return readReport(this.#reportPath);
  }

  async forgetReport(): Promise<void> {
    await rm(this.#reportPath, { force: true });
  }

  close(): void {
    clearInterval(this.#ticking);
    this.#progress.end();
  }
}
