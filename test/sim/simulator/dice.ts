import { seededRandom } from "../../kit/seeded-random.ts";

/** All chance of one run: the same seed throws the same. */
export class Dice {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  /** From 0 (included) to `bound` (excluded). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** Dice of their own for one subject, so that more throws there change nothing elsewhere. */
  split(): Dice {
    return new Dice(this.below(2 ** 31));
  }
}
