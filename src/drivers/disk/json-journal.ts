import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJsonText } from "../../lib/json-text.ts";
import type { Journal } from "../../ports/journal.ts";

const compactAtEntries = 200;
const keptEntries = 100;
const keyPattern = /^[A-Za-z0-9][\w.-]{0,127}$/;

/** One file of JSON lines per key; a file that grew is rewritten with its newest entries and renamed into place. */
export class JsonJournal implements Journal {
  readonly #folder: string;
  readonly #entryCounts = new Map<string, number>();
  readonly #onError: (error: unknown) => void;
  #pending = new Map<string, string[]>();
  #writing: Promise<void> | undefined;

  constructor(folder: string, onError: (error: unknown) => void) {
    this.#folder = folder;
    this.#onError = onError;
  }

  append(key: string, entry: unknown): void {
    const lines = this.#pending.get(key) ?? [];
    this.#pending.set(key, lines);
    lines.push(JSON.stringify(entry));
    // Those that wait for a disk that hangs: the file would keep no more.
    if (lines.length > keptEntries) lines.shift();
    this.#writing ??= this.#writeAll();
  }

  async read(key: string): Promise<readonly unknown[]> {
    await this.flush();
    return readLines(this.#path(key));
  }

  async remove(key: string): Promise<void> {
    this.#pending.delete(key);
    this.#entryCounts.delete(key);
    await this.flush();
    await rm(this.#path(key), { force: true });
  }

  async list(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    return names.filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -6));
  }

  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      while (this.#pending.size > 0) {
        const batch = this.#pending;
        this.#pending = new Map();
        for (const [key, lines] of batch) await this.#write(key, lines);
      }
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(key: string, lines: readonly string[]): Promise<void> {
    const path = this.#path(key);
    const before = this.#entryCounts.get(key) ?? (await readLines(path)).length;
    const count = before + lines.length;
    await appendFile(path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
    this.#entryCounts.set(key, count);
    if (count < compactAtEntries) return;
    const kept = (await readLines(path)).slice(-keptEntries);
    await writeFile(`${path}.new`, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(""), {
      mode: 0o600,
    });
    await rename(`${path}.new`, path);
    this.#entryCounts.set(key, kept.length);
  }

  #path(key: string): string {
    if (!keyPattern.test(key)) throw new Error(`"${key}" cannot name a journal`);
    return join(this.#folder, `${key}.jsonl`);
  }
}

// A crash can leave the last line torn; what can be read is kept.
async function readLines(path: string): Promise<unknown[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  const entries: unknown[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      entries.push(parseJsonText(line));
    } catch {
      continue;
    }
  }
  return entries;
}
