/** Which file was the first to define each object: of two objects of one name only the first counts. */
export class DefinedNames {
  readonly #paths = new Map<string, string>();

  /** Undefined when it is the first; else the problem to report. */
  define(kind: string, key: string, path: string): string | undefined {
    const name = `${kind} ${key}`;
    const first = this.#paths.get(name);
    if (first === undefined) {
      this.#paths.set(name, path);
      return undefined;
    }
    return `${name} is already defined in ${first}: remove or rename one of them`;
  }
}
