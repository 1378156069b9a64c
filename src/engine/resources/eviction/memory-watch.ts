import type { Signal } from "../../../core/eviction/signal.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { MemoryGauge } from "../../../ports/memory-gauge.ts";

/** How long between two glances, far from a threshold and close to one. */
const farMs = 500;
const nearMs = 100;
/** Closer than this counts as close. */
const nearBytes = 512 * 2 ** 20;

export interface MemoryWatchDeps {
  readonly gauge: MemoryGauge;
  readonly clock: Clock;
  /** The cgroup of all pods; undefined when pods have none of their own. */
  readonly podsCgroup: string | undefined;
}

/** What was in use at a moment, by signal. */
export type MemoryReading = ReadonlyMap<Signal, number>;

interface Mark {
  readonly cgroup: string;
  readonly limitBytes: number;
}

/**
 * Notices between two looks at the node that memory runs short. The kernel has notifications for that, but none that
 * a program without native code can wait for; a glance at one file costs a few microseconds instead.
 */
export class MemoryWatch {
  readonly #deps: MemoryWatchDeps;
  #marks: readonly Mark[] = [];

  constructor(deps: MemoryWatchDeps) {
    this.#deps = deps;
  }

  /** To be taken before the look whose margins are then watched. */
  read(): MemoryReading {
    const readings = new Map<Signal, number>();
    for (const [signal, cgroup] of this.#cgroups()) {
      const bytes = this.#deps.gauge.usedBytes(cgroup);
      if (bytes !== undefined) readings.set(signal, bytes);
    }
    return readings;
  }

  /** From now on, a growth by more than a margin since the reading is worth a look. */
  arm(reading: MemoryReading, margins: ReadonlyMap<Signal, number>): void {
    this.#marks = this.#cgroups().flatMap(([signal, cgroup]) => {
      const base = reading.get(signal);
      const margin = margins.get(signal);
      if (base === undefined || margin === undefined) return [];
      return [{ cgroup, limitBytes: base + margin }];
    });
  }

  /** Resolves after `ms`, or true as soon as a margin is used up. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonicMs() + ms;
    // However much memory comes and goes, looks have a distance.
    let glanceMs = this.#marks.length === 0 ? ms : farMs;
    for (;;) {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0) return false;
      await clock.sleep(Math.min(glanceMs, leftMs), signal);
      const leftBytes = this.#leftBytes();
      if (leftBytes < 0) return true;
      glanceMs = leftBytes < nearBytes ? nearMs : farMs;
    }
  }

  #leftBytes(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { cgroup, limitBytes } of this.#marks) {
      const bytes = this.#deps.gauge.usedBytes(cgroup);
      if (bytes !== undefined) least = Math.min(least, limitBytes - bytes);
    }
    return least;
  }

  #cgroups(): readonly (readonly [Signal, string])[] {
    const { podsCgroup } = this.#deps;
    const machine = ["memory.available", "/"] as const;
    if (podsCgroup === undefined) return [machine];
    return [machine, ["allocatableMemory.available", podsCgroup]];
  }
}
