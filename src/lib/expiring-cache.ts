/** How long an answer counts; 0 = it is not kept. */
export interface Answered<T> {
  readonly value: T;
  readonly keepMs: number;
}

/** Remembers answers for a while; the same question is asked only once at a time. Failures are not kept. */
export class ExpiringCache<T> {
  readonly #nowMs: () => number;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, { readonly value: T; readonly untilMs: number }>();
  readonly #asked = new Map<string, Promise<Answered<T>>>();

  constructor(nowMs: () => number, maxEntries: number) {
    this.#nowMs = nowMs;
    this.#maxEntries = maxEntries;
  }

  async get(key: string, ask: () => Promise<Answered<T>>): Promise<T> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#nowMs() < known.untilMs) return known.value;
    this.#entries.delete(key);
    const asked = this.#asked.get(key) ?? this.#ask(key, ask);
    return (await asked).value;
  }

  #ask(key: string, ask: () => Promise<Answered<T>>): Promise<Answered<T>> {
    const asked = ask()
      .then((answer) => {
        this.#keep(key, answer);
        return answer;
      })
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  #keep(key: string, { value, keepMs }: Answered<T>): void {
    if (keepMs <= 0) return;
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size >= this.#maxEntries && oldest !== undefined) {
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, untilMs: this.#nowMs() + keepMs });
  }
}
