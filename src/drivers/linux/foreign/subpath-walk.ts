import { chmodSync, fstatSync, mkdirSync, readlinkSync } from "node:fs";
import { errorCode } from "../volume-error.ts";
import {
  childPath,
  type OpenEntry,
  openAgain,
  openEntry,
  openFolder,
  openNamedFolder,
  unlessAbsent,
} from "./open-entry.ts";
import { subPathCreateCode } from "./subpath-create-code.ts";

/** As many as the kernel follows. */
const maxLinks = 40;

/** Bounds the work that links with many "..", written by a container, can cause. */
const maxSteps = 4096;

class SubPathCreateError extends Error {
  readonly code: string = subPathCreateCode;
}

/**
 * Opens what a sub path names in a volume, one component at a time. Links are read, and their targets walked in the
 * same way, so that nothing outside the volume can be reached however the volume changes meanwhile. With
 * `makesFolders`, those that are missing are made like the volume's top folder, unless a link names them.
 */
export function openSubPath(
  volumePath: string,
  subPath: string,
  { makesFolders }: { readonly makesFolders: boolean },
): OpenEntry {
  using top = openNamedFolder(volumePath);
  const walk = new Walk(top, subPath, makesFolders);
  try {
    return walk.run();
  } catch (error) {
    walk.close();
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

  run(): OpenEntry {
    for (let name = this.#pending.shift(); name !== undefined; name = this.#pending.shift()) {
      this.#steps += 1;
      if (this.#steps > maxSteps) throw this.#error("has too many components");
      const isOwn = this.#fromLinks === 0;
      if (!isOwn) this.#fromLinks -= 1;
      if (name === "..") this.#goUp();
      else this.#goDown(name, this.#makesFolders && isOwn);
    }
    const entry = this.#entry ?? openAgain(this.#top);
    this.#entry = undefined;
    return entry;
  }

  close(): void {
    this.#entry?.[Symbol.dispose]();
    this.#entry = undefined;
  }

  #goDown(name: string, mayCreate: boolean): void {
    const folder = this.#entry ?? this.#top;
    const path = childPath(folder, name);
    let entry = unlessAbsent(() => openEntry(path));
    if (entry === undefined && mayCreate) {
      this.#makeFolder(path, name);
      entry = openEntry(path);
    }
    if (entry === undefined) throw this.#error(`leads to ${name}, which does not exist`);
    if (!fstatSync(entry.fd).isSymbolicLink()) {
      this.close();
      this.#entry = entry;
      this.#reached.push(name);
      return;
    }
    entry[Symbol.dispose]();
    this.#follow(readlinkSync(path));
  }

  #follow(target: string): void {
    this.#links += 1;
    if (this.#links > maxLinks) throw this.#error("has too many links");
    let components = componentsOf(target);
    if (target.startsWith("/")) {
      const top = componentsOf(readlinkSync(this.#top.path));
      if (!top.every((name, index) => components[index] === name)) {
        throw this.#error("leads out of the volume by a link");
      }
      components = components.slice(top.length);
      this.close();
      this.#reached = [];
    }
    this.#pending.unshift(...components);
    this.#fromLinks += components.length;
  }

  // The folder above is looked for from the top again: where ".." leads now may be outside the volume.
  #goUp(): void {
    if (this.#reached.length === 0) throw this.#error("leads out of the volume by a link");
    const above = this.#reached.slice(0, -1);
    this.close();
    this.#reached = [];
    this.#pending.unshift(...above);
    this.#fromLinks += above.length;
  }

  #makeFolder(path: string, name: string): void {
    try {
      mkdirSync(path, 0o700);
      using folder = openFolder(path);
      const { mode } = fstatSync(this.#top.fd);
      chmodSync(folder.path, mode & 0o7777);
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
