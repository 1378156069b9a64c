import { chmod, mkdir, readlink } from "node:fs/promises";
import { errorCode } from "./volume-error.ts";
import {
  childPath,
  type OpenEntry,
  openAgain,
  openEntryIn,
  openFolderIn,
  openNamedFolder,
  unlessAbsent,
} from "./volume-folder.ts";

/** As many as the kernel follows. */
const maxLinks = 40;

/** Bounds the work that links with many "..", written by a container, can cause. */
const maxSteps = 4096;

/** A missing folder of a sub path could not be made. */
export class SubPathCreateError extends Error {}

/**
 * Opens what a sub path names in a volume, one component at a time. Links are read, and their targets walked in the
 * same way, so that nothing outside the volume can be reached however the volume changes meanwhile. With
 * `makesFolders`, those that are missing are made like the volume's top folder, unless a link names them.
 */
export async function openSubPath(
  volumePath: string,
  subPath: string,
  { makesFolders }: { readonly makesFolders: boolean },
): Promise<OpenEntry> {
  await using top = await openNamedFolder(volumePath);
  const walk = new Walk(top, subPath, makesFolders);
  try {
    return await walk.run();
  } catch (error) {
    await walk.close();
    throw error;
  }
}

class Walk {
  readonly #top: OpenEntry;
  readonly #subPath: string;
  readonly #makesFolders: boolean;
  /** The components from the top folder to where the walk is; none of them a link when it was opened. */
  #reached: string[] = [];
  /** The last of them; the top folder itself while undefined. */
  #entry: OpenEntry | undefined;
  #pending: string[];
  /** How many of the pending components a link brought. */
  #fromLinks = 0;
  #links = 0;
  #steps = 0;

  constructor(top: OpenEntry, subPath: string, makesFolders: boolean) {
    this.#top = top;
    this.#subPath = subPath;
    this.#makesFolders = makesFolders;
    this.#pending = componentsOf(subPath);
  }

  async run(): Promise<OpenEntry> {
    for (let name = this.#pending.shift(); name !== undefined; name = this.#pending.shift()) {
      this.#steps += 1;
      if (this.#steps > maxSteps) throw this.#error("has too many components");
      const isOwn = this.#fromLinks === 0;
      if (!isOwn) this.#fromLinks -= 1;
      if (name === "..") await this.#goUp();
      else await this.#goDown(name, this.#makesFolders && isOwn);
    }
    const entry = this.#entry ?? (await openAgain(this.#top));
    this.#entry = undefined;
    return entry;
  }

  async close(): Promise<void> {
    await this.#entry?.handle.close();
    this.#entry = undefined;
  }

  async #goDown(name: string, mayCreate: boolean): Promise<void> {
    const folder = this.#entry ?? this.#top;
    let entry = await unlessAbsent(openEntryIn(folder, name));
    if (entry === undefined && mayCreate) {
      await this.#makeFolder(folder, name);
      entry = await openEntryIn(folder, name);
    }
    if (entry === undefined) throw this.#error(`leads to ${name}, which does not exist`);
    const info = await entry.handle.stat();
    if (!info.isSymbolicLink()) {
      await this.close();
      this.#entry = entry;
      this.#reached.push(name);
      return;
    }
    await entry.handle.close();
    await this.#follow(await readlink(childPath(folder, name)));
  }

  async #follow(target: string): Promise<void> {
    this.#links += 1;
    if (this.#links > maxLinks) throw this.#error("has too many links");
    let components = componentsOf(target);
    if (target.startsWith("/")) {
      const top = componentsOf(await readlink(this.#top.path));
      if (!top.every((name, index) => components[index] === name)) {
        throw this.#error("leads out of the volume by a link");
      }
      components = components.slice(top.length);
      await this.close();
      this.#reached = [];
    }
    this.#pending.unshift(...components);
    this.#fromLinks += components.length;
  }

  // The folder above is looked for from the top again: where ".." leads now may be outside the volume.
  async #goUp(): Promise<void> {
    if (this.#reached.length === 0) throw this.#error("leads out of the volume by a link");
    const above = this.#reached.slice(0, -1);
    await this.close();
    this.#reached = [];
    this.#pending.unshift(...above);
    this.#fromLinks += above.length;
  }

  async #makeFolder(parent: OpenEntry, name: string): Promise<void> {
    try {
      await mkdir(childPath(parent, name), 0o700);
      await using folder = await openFolderIn(parent, name);
      const { mode } = await this.#top.handle.stat();
      await chmod(folder.path, mode & 0o7777);
    } catch (error) {
      // Another container of the pod may have made it first.
      if (errorCode(error) === "EEXIST") return;
      throw new SubPathCreateError(`cannot make the folder ${name}: ${errorCode(error)}`, {
        cause: error,
      });
    }
  }

  #error(problem: string): Error {
    return new Error(`sub path ${this.#subPath} ${problem}`);
  }
}

function componentsOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
