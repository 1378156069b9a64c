import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Copies of manifests as they were when they were last good. An agent that starts while a file is broken would
 * otherwise take its pods for unwanted.
 */
export class LastGoodFiles {
  readonly #folder: string;
  readonly #saved = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
    // Manifests may hold secrets.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  save(path: string, text: string): void {
    if (this.#saved.get(path) === text) return;
    const target = join(this.#folder, copyName(path));
    writeFileSync(`${target}.new`, text, { mode: 0o600 });
    renameSync(`${target}.new`, target);
    this.#saved.set(path, text);
  }

  load(path: string): string | undefined {
    try {
      return readFileSync(join(this.#folder, copyName(path)), "utf8");
    } catch {
      return undefined;
    }
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return [];
    }
  }

  /** Forgets the files that are gone. */
  keepOnly(paths: Iterable<string>): void {
    const kept = new Set([...paths].map(copyName));
    for (const name of this.#names()) {
      if (!kept.has(name)) rmSync(join(this.#folder, name), { force: true });
    }
  }
}

function copyName(path: string): string {
  return createHash("sha256").update(path).digest("hex");
}
