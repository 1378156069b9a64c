/** Something that is due at a time. */
export interface Timer {
  readonly dueMs: number;
  /** Undefined = cancelled. */
  wake: (() => void) | undefined;
}

interface Entry {
  readonly timer: Timer;
  /** Those that are due at one time come in the order in which they were set. */
  readonly order: number;
}

/** Timers, the next one first. */
export class TimerHeap {
  readonly #entries: Entry[] = [];
  #added = 0;

  add(timer: Timer): void {
    const entries = this.#entries;
    const entry = { timer, order: this.#added };
    this.#added += 1;
    let index = entries.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = entries[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      entries[index] = parent;
      index = above;
    }
    entries[index] = entry;
  }

  /** When the next one that was not cancelled is due. */
  get nextDueMs(): number | undefined {
    return this.#first()?.dueMs;
  }

  /** Takes out the next one, unless it is due later than that. */
  takeDue(untilMs: number): Timer | undefined {
    const first = this.#first();
    if (first === undefined || first.dueMs > untilMs) return undefined;
    this.#removeFirst();
    return first;
  }

  #first(): Timer | undefined {
    for (;;) {
      const timer = this.#entries[0]?.timer;
      if (timer === undefined || timer.wake !== undefined) return timer;
      this.#removeFirst();
    }
  }

  #removeFirst(): void {
    const entries = this.#entries;
    const moved = entries.pop();
    if (moved === undefined || entries.length === 0) return;
    let index = 0;
    for (;;) {
      const child = this.#smallerChild(index);
      const entry = entries[child];
      if (entry === undefined || !isBefore(entry, moved)) break;
      entries[index] = entry;
      index = child;
    }
    entries[index] = moved;
  }

  #smallerChild(index: number): number {
    const left = 2 * index + 1;
    const a = this.#entries[left];
    const b = this.#entries[left + 1];
    return a !== undefined && b !== undefined && isBefore(b, a) ? left + 1 : left;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.timer.dueMs < b.timer.dueMs || (a.timer.dueMs === b.timer.dueMs && a.order < b.order);
}
