import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { WatchedFolder } from "./manifest-folder.ts";

interface OpenWatcher {
  readonly watcher: FSWatcher;
  /** The inode: a folder that was replaced has another one, and its old watcher sees nothing any more. */
  readonly identity: string;
  names: ReadonlySet<string> | undefined;
}

/** A file came or went, or its content is being written. */
export type FolderChange = "moved" | "written";

/** Owns the file system watchers of one source. */
export class FolderWatcher {
  readonly #onChange: (change: FolderChange) => void;
  readonly #open = new Map<string, OpenWatcher>();
  /** How often a file came or went. */
  readonly #moves = new Map<string, number>();

  constructor(onChange: (change: FolderChange) => void) {
    this.#onChange = onChange;
  }

  /** Watches exactly these folders. True when a watcher was opened, so that changes before that may have been missed. */
  async watchOnly(wanted: readonly WatchedFolder[]): Promise<boolean> {
    const names = namesByFolder(wanted);
    for (const folder of this.#open.keys()) {
      if (!names.has(folder)) this.#close(folder);
    }
    let isOpened = false;
    for (const [folder, only] of names) {
      if (await this.#watch(folder, only)) isOpened = true;
    }
    return isOpened;
  }

  /** The files that went and came again since this was last asked: a file that is replaced only comes. */
  takeRecreated(): ReadonlySet<string> {
    const recreated = [...this.#moves].filter(([, count]) => count > 1).map(([path]) => path);
    this.#moves.clear();
    return new Set(recreated);
  }

  close(): void {
    for (const folder of this.#open.keys()) this.#close(folder);
  }

  async #watch(folder: string, names: ReadonlySet<string> | undefined): Promise<boolean> {
    const identity = await identityOf(folder);
    const present = this.#open.get(folder);
    if (present !== undefined && present.identity === identity) {
      present.names = names;
      return false;
    }
    this.#close(folder);
    if (identity === undefined) return false;
    try {
      const watcher = watch(folder, { persistent: false });
      const opened: OpenWatcher = { watcher, identity, names };
      watcher.on("change", (event, name) => {
        if (event === "rename" && name !== null) this.#countMove(join(folder, String(name)));
        const isWanted =
          opened.names === undefined || name === null || opened.names.has(String(name));
        if (isWanted) this.#onChange(event === "rename" ? "moved" : "written");
      });
      watcher.on("error", () => {
        this.#close(folder);
        this.#onChange("moved");
      });
      this.#open.set(folder, opened);
      return true;
    } catch {
      // Without a watcher, when kernel resources are exhausted, the periodic scan still sees every change.
      return false;
    }
  }

  #countMove(path: string): void {
    this.#moves.set(path, (this.#moves.get(path) ?? 0) + 1);
  }

  #close(folder: string): void {
    this.#open.get(folder)?.watcher.close();
    this.#open.delete(folder);
  }
}

async function identityOf(folder: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(folder);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** The entries that matter per folder; undefined where all of them do. */
function namesByFolder(
  wanted: readonly WatchedFolder[],
): ReadonlyMap<string, ReadonlySet<string> | undefined> {
  const names = new Map<string, Set<string> | undefined>();
  for (const { folder, name } of wanted) {
    const known = names.get(folder);
    if (name === undefined || (names.has(folder) && known === undefined)) {
      names.set(folder, undefined);
    } else {
      names.set(folder, (known ?? new Set()).add(name));
    }
  }
  return names;
}
