/** Which sources of pods have delivered: nothing is cleaned up before all of them have. */
export class SourceReadiness {
  readonly #names: readonly string[];
  readonly #delivered = new Set<string>();

  /** `names` are those that must deliver. */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** The sync loop has handled an update of that source. */
  noteHandled(name: string): void {
    this.#delivered.add(name);
  }

  get isAnyReady(): boolean {
    return this.#delivered.size > 0;
  }

  get areAllReady(): boolean {
    return this.#names.every((name) => this.#delivered.has(name));
  }
}
