/** Which sources of pods were heard: nothing is cleaned up before all of them were. */
export class SourceReadiness {
  readonly #names: readonly string[];
  readonly #heard = new Set<string>();

  /** `names` are those that must be heard. */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** The sync loop has handled an update of that source. */
  noteHandled(name: string): void {
    this.#heard.add(name);
  }

  get isAnyHeard(): boolean {
    return this.#heard.size > 0;
  }

  get areAllHeard(): boolean {
    return this.#names.every((name) => this.#heard.has(name));
  }
}
