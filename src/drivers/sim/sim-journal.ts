import type { Journal } from "../../ports/journal.ts";

const entriesPerKey = 100;

/** Histories in memory. */
export class SimJournal implements Journal {
  readonly #entries = new Map<string, unknown[]>();

  /** Of all histories that have entries. */
  get keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  append(key: string, entry: unknown): void {
    const entries = this.#entries.get(key) ?? [];
    entries.push(entry);
    if (entries.length > entriesPerKey) entries.shift();
    this.#entries.set(key, entries);
  }

  read(key: string): Promise<readonly unknown[]> {
    return Promise.resolve(this.#entries.get(key) ?? []);
  }

  remove(key: string): Promise<void> {
    this.#entries.delete(key);
    return Promise.resolve();
  }

  list(): Promise<readonly string[]> {
    return Promise.resolve(this.keys);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }
}
