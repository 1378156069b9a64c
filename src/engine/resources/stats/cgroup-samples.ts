import { type CgroupSample, nanoCoresBetween } from "../../../core/stats/cgroup-sample.ts";
import type { CgroupUsage } from "../../../model/cgroup-usage.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { CgroupStats } from "../../../ports/stats.ts";

/** Files are read once in this time for all callers; a little less than the ten seconds that most callers keep. */
const periodMs = 9_500;
/** How busy a cgroup is says little over less than this. */
const shortestRateMs = 5_000;
const forgetAfterMs = 120_000;
/** Who shows details asks again soon: so long they are read with the rest, and nothing is read twice. */
const detailMs = 180_000;

interface Kept {
  readonly sample: CgroupSample;
  /** What the sample's rate is counted from. */
  readonly base: CgroupUsage;
  readonly readAtMs: number;
}

/** The last readings of cgroups, and how busy each was between two of them. */
export class CgroupSamples {
  readonly #stats: CgroupStats;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #reading = new Map<string, Promise<CgroupSample | undefined>>();
  #detailUntilMs = 0;

  constructor(stats: CgroupStats, clock: Clock) {
    this.#stats = stats;
    this.#clock = clock;
  }

  /** The same as `read`, with the details of the cgroup. */
  readDetail(path: string): Promise<CgroupSample | undefined> {
    this.#detailUntilMs = this.#clock.monotonicMs() + detailMs;
    return this.read(path, this.#kept.get(path)?.sample.usage.detail === undefined);
  }

  /** A sample of the last period, or a new one; `isFresh` asks for a new one. Undefined when there is no such cgroup. */
  async read(path: string, isFresh = false): Promise<CgroupSample | undefined> {
    const kept = this.#kept.get(path);
    if (kept !== undefined && !isFresh && this.#clock.monotonicMs() - kept.readAtMs < periodMs) {
      return kept.sample;
    }
    const reading = this.#reading.get(path) ?? this.#readNow(path);
    this.#reading.set(path, reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(path);
    }
  }

  /** Drops what was not asked for in a long time. */
  prune(): void {
    const oldestMs = this.#clock.monotonicMs() - forgetAfterMs;
    for (const [path, { readAtMs }] of this.#kept) {
      if (readAtMs < oldestMs) this.#kept.delete(path);
    }
  }

  async #readNow(path: string): Promise<CgroupSample | undefined> {
    const withDetail = this.#clock.monotonicMs() < this.#detailUntilMs;
    const usage = await this.#stats.read(path, withDetail);
    const before = this.#kept.get(path);
    if (usage === undefined) {
      this.#kept.delete(path);
      return undefined;
    }
    const base = before === undefined ? usage : rateBase(before);
    const isRate = usage.timeMs > base.timeMs;
    const sample = { usage, usageNanoCores: isRate ? nanoCoresBetween(base, usage) : 0 };
    this.#kept.set(path, { sample, base, readAtMs: this.#clock.monotonicMs() });
    return sample;
  }
}

/** The last reading, unless it came too soon after the one that its own rate was counted from. */
function rateBase({ sample, base }: Kept): CgroupUsage {
  return sample.usage.timeMs - base.timeMs < shortestRateMs && sample.usage !== base
    ? base
    : sample.usage;
}
