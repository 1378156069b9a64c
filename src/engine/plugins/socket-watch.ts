import { pluginEntryUse } from "../../core/plugins/plugin-entry.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinPath } from "../../lib/path.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { FolderWatch, PluginEntry, PluginSockets } from "../../ports/plugin-sockets.ts";

/** More than any node has plugins: a folder that is flooded with sockets or folders costs no more than this. */
const maxSockets = 256;
const maxFolders = 256;
/** Changes that wait to be looked at; with more of them the whole folder is read again. */
const maxChanges = 1024;
const folderRetries = { initialMs: 1000, maxMs: 30_000 };

export interface SocketWatchDeps {
  readonly sockets: PluginSockets;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Notified when sockets came, went or were replaced. */
  readonly wakeUp: WakeUp;
}

interface WatchedFolder {
  readonly identity: string;
  readonly watch: FolderWatch;
}

/** Knows the sockets in a folder and its subfolders, by a watch of each. Links are not followed. */
export class SocketWatch {
  readonly #deps: SocketWatchDeps;
  readonly #sockets = new Map<string, string>();
  readonly #folders = new Map<string, WatchedFolder>();
  /** Paths at which something came or went. */
  readonly #changes = new Set<string>();
  readonly #changed: WakeUp;
  readonly #backoff = new Backoff(folderRetries);
  /** Of the folder that the folder is in: while a plugin listens in a removed folder, that reports no end. */
  #parentWatch: FolderWatch | undefined;
  #isComplete = false;
  #isFull = false;

  constructor(deps: SocketWatchDeps) {
    this.#deps = deps;
    this.#changed = new WakeUp(deps.clock);
  }

  /** Path → identity. */
  get sockets(): ReadonlyMap<string, string> {
    return this.#sockets;
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const waitMs = await this.catchUp();
        await this.#changed.wait(waitMs, signal);
      }
    } finally {
      this.#parentWatch?.close();
      this.#forgetFolders(this.#deps.folder);
    }
  }

  /** Looks at all that changed, and at the whole folder where a watch was lost; returns when to do so again at the latest. */
  async catchUp(): Promise<number> {
    const { folder, log } = this.#deps;
    try {
      if (!this.#isComplete) await this.#readAll();
      for (const path of this.#changes) {
        this.#changes.delete(path);
        await this.#look(path, true);
      }
      this.#backoff.reset();
      return Infinity;
    } catch (error) {
      this.#isComplete = false;
      log.warn("cannot watch the folder of plugin sockets", { folder, error: errorText(error) });
      return this.#backoff.nextMs();
    }
  }

  async #readAll(): Promise<void> {
    const { sockets, folder } = this.#deps;
    this.#changes.clear();
    this.#forgetFolders(folder);
    await sockets.makeFolder(folder);
    this.#parentWatch?.close();
    this.#parentWatch = sockets.watch(parentOf(folder), (name) => {
      if (name === undefined || name === nameOf(folder)) this.#noteChange(folder, undefined);
    });
    this.#isComplete = true;
    this.#isFull = false;
    const entry = await sockets.read(folder);
    if (entry?.kind !== "folder") throw new Error(`${folder} is not a folder`);
    await this.#enter(folder, entry);
    for (const path of this.#sockets.keys()) {
      if (!this.#folders.has(parentOf(path))) this.#forgetSocket(path);
    }
  }

  /** Watches a folder first and reads it then, so that nothing is missed. */
  async #enter(folder: string, { identity }: PluginEntry): Promise<void> {
    if (this.#folders.get(folder)?.identity === identity) return;
    this.#forgetFolders(folder);
    if (this.#folders.size >= maxFolders) {
      this.#noteFull("folders", maxFolders);
      return;
    }
    const { sockets } = this.#deps;
    const watch = sockets.watch(folder, (name) => this.#noteChange(folder, name));
    this.#folders.set(folder, { identity, watch });
    const names = new Set(await sockets.list(folder));
    for (const name of names) await this.#look(joinPath(folder, name), false);
    for (const path of this.#sockets.keys()) {
      if (parentOf(path) === folder && !names.has(nameOf(path))) this.#forgetSocket(path);
    }
  }

  async #look(path: string, isCreated: boolean): Promise<void> {
    const entry = await this.#deps.sockets.read(path);
    if (entry?.kind !== "folder") this.#forgetTree(path);
    if (entry?.kind !== "socket") this.#forgetSocket(path);
    if (entry === undefined) return;
    switch (pluginEntryUse(nameOf(path), entry.kind, isCreated)) {
      case "register":
        this.#addSocket(path, entry.identity);
        return;
      case "watch":
        await this.#enter(path, entry);
        return;
      case "ignore":
        this.#deps.log.debug("ignoring an entry of the plugin folder", { path, kind: entry.kind });
    }
  }

  #addSocket(path: string, identity: string): void {
    if (this.#sockets.get(path) === identity) return;
    if (!this.#sockets.has(path) && this.#sockets.size >= maxSockets) {
      this.#noteFull("sockets", maxSockets);
      return;
    }
    this.#sockets.set(path, identity);
    this.#deps.wakeUp.notify();
  }

  #forgetSocket(path: string): void {
    if (!this.#sockets.delete(path)) return;
    this.#deps.wakeUp.notify();
    if (!this.#isFull || this.#sockets.size >= maxSockets / 2) return;
    // There is room for those that were ignored.
    this.#isComplete = false;
    this.#changed.notify();
  }

  /** Nothing that was known below a path is there any more. */
  #forgetTree(folder: string): void {
    this.#forgetFolders(folder);
    for (const path of this.#sockets.keys()) {
      if (isBelow(path, folder)) this.#forgetSocket(path);
    }
  }

  #forgetFolders(folder: string): void {
    for (const [path, { watch }] of this.#folders) {
      if (path !== folder && !isBelow(path, folder)) continue;
      watch.close();
      this.#folders.delete(path);
    }
  }

  #noteChange(folder: string, name: string | undefined): void {
    // A folder that was replaced may look the same, but its watch sees nothing any more.
    if (name === undefined) this.#forgetFolders(folder);
    this.#changes.add(name === undefined ? folder : joinPath(folder, name));
    const isRootLost = name === undefined && folder === this.#deps.folder;
    if (isRootLost || this.#changes.size > maxChanges) {
      this.#changes.clear();
      this.#isComplete = false;
    }
    this.#changed.notify();
  }

  #noteFull(what: string, most: number): void {
    if (this.#isFull) return;
    this.#isFull = true;
    const { folder, log } = this.#deps;
    log.warn("the folder of plugin sockets has too many entries, ignoring more", {
      folder,
      what,
      most,
    });
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
