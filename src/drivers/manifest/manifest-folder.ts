import { type BigIntStats, constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  type ManifestText,
  maxManifestBytes,
  tooLarge,
} from "../../model/manifest/manifest-text.ts";

export type ManifestNames = "all" | "yamlAndJson";

/** What is at the path of a source right now. */
export interface FolderContent {
  readonly kind: "folder" | "file" | "missing";
  readonly files: readonly ManifestText[];
  readonly unreadable: readonly { readonly path: string; readonly message: string }[];
  readonly ignored: readonly string[];
  /** Where a change can change this content. */
  readonly watched: readonly WatchedFolder[];
}

export interface WatchedFolder {
  readonly folder: string;
  /** The only entry that matters; all of them where it is absent. */
  readonly name?: string | undefined;
}

const partBytes = 64 * 1024;
// Of a folder: far more than a node has pods. Files beyond are refused by name, in the order of names.
const maxFiles = 1000;
const maxFolderLength = 64 * 1024 * 1024;
const tooMany = `not read: the folder holds more than ${maxFiles} manifests, or ${maxFolderLength} characters`;
const manifestName = /^[^.].*\.(?:yaml|yml|json)$/;

// A file may change twice within one tick of the clock that its times are of; only what has rested is known by them.
const restingMs = 2000n;

/** What identifies a version of a file without reading it. */
interface KnownFile {
  readonly version: string;
  readonly file: ManifestText;
}

/** Reads a folder of manifests, or one manifest. Only what cannot be reported per file throws. */
export function readManifestFolder(path: string, names: ManifestNames): Promise<FolderContent> {
  return new ManifestReader(path, names).read();
}

/** The same again and again: what has not changed since is the same object, and is not read. */
export class ManifestReader {
  readonly #path: string;
  readonly #names: ManifestNames;
  readonly #nowMs: () => number;
  #known: ReadonlyMap<string, KnownFile> = new Map();

  constructor(path: string, names: ManifestNames, nowMs: () => number = Date.now) {
    this.#path = path;
    this.#names = names;
    this.#nowMs = nowMs;
  }

  async read(): Promise<FolderContent> {
    const path = this.#path;
    const around = [await containingFolder(path), ...(await linkTarget(path))];
    const found = await statOrUndefined(path);
    if (found === undefined) {
      return { kind: "missing", files: [], unreadable: [], ignored: [], watched: around };
    }
    if (found.isFile()) {
      return { kind: "file", ...(await this.#readFiles([path])), ignored: [], watched: around };
    }
    if (!found.isDirectory()) throw new Error(`${path} is not a directory or file`);
    const listed = await readdir(path, { withFileTypes: true });
    const links = new Set(listed.filter(mayBeLink).map(({ name }) => join(path, name)));
    const entries = listed.map(({ name }) => name).toSorted();
    const isManifest = (name: string) =>
      this.#names === "all" ? !name.startsWith(".") : manifestName.test(name);
    const paths = entries.filter(isManifest).map((name) => join(path, name));
    const ignored = entries.filter((name) => !isManifest(name)).map((name) => join(path, name));
    const targets = await Promise.all(paths.filter((each) => links.has(each)).map(linkTarget));
    return {
      kind: "folder",
      ...(await this.#readFiles(paths)),
      ignored: this.#names === "all" ? [] : ignored,
      watched: [{ folder: path }, ...around, ...targets.flat()],
    };
  }

  async #readFiles(paths: readonly string[]): Promise<Pick<FolderContent, "files" | "unreadable">> {
    const files: ManifestText[] = [];
    const unreadable: { path: string; message: string }[] = [];
    const known = new Map<string, KnownFile>();
    let length = 0;
    for (const path of paths) {
      try {
        if (files.length === maxFiles || length > maxFolderLength) throw new Error(tooMany);
        const file = await this.#readFile(path, known);
        if (file === undefined) continue;
        files.push(file);
        length += file.text.length;
      } catch (error) {
        unreadable.push({ path, message: error instanceof Error ? error.message : String(error) });
      }
    }
    this.#known = known;
    return { files, unreadable };
  }

  /** Undefined when the file has gone since it was listed. */
  async #readFile(path: string, known: Map<string, KnownFile>): Promise<ManifestText | undefined> {
    const nowMs = BigInt(Math.trunc(this.#nowMs()));
    const found = await statOrUndefined(path);
    if (found === undefined) return undefined;
    const version = [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ");
    const before = this.#known.get(path);
    if (before?.version === version) {
      known.set(path, before);
      return before.file;
    }
    const file = { path, text: await readBounded(path, found) };
    if (found.ctimeMs + restingMs < nowMs) known.set(path, { version, file });
    return file;
  }
}

async function readBounded(path: string, found: BigIntStats): Promise<string> {
  if (found.isDirectory()) {
    throw new Error("provided manifest path is a directory, not recursing into manifest path");
  }
  // A pipe or device would block or never end.
  if (!found.isFile()) throw new Error("manifest path is not a directory or file");
  if (found.size > maxManifestBytes) throw new Error(tooLarge);
  // What was put there since may be a pipe, and a file of the kernel's may wait for more to come.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error("manifest path is not a directory or file");
    return await readAtMost(file);
  } catch (error) {
    if (!hasCode(error, "EAGAIN")) throw error;
    throw new Error("does not answer: it has no end to read to", { cause: error });
  } finally {
    await file.close();
  }
}

async function readAtMost(file: FileHandle): Promise<string> {
  const parts: Buffer[] = [];
  for (let length = 0; length <= maxManifestBytes; ) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(partBytes) });
    if (bytesRead === 0) return Buffer.concat(parts).toString("utf8");
    parts.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  throw new Error(tooLarge);
}

/** The folder that holds the path, or the nearest one above it that exists. */
async function containingFolder(path: string): Promise<WatchedFolder> {
  const folder = dirname(path);
  const isThere = folder === path || (await statOrUndefined(folder)) !== undefined;
  return isThere ? { folder, name: basename(path) } : containingFolder(folder);
}

/** Not every file system reports the types of its entries. */
function mayBeLink(entry: Dirent): boolean {
  return entry.isSymbolicLink() || !(entry.isFile() || entry.isDirectory());
}

/** The place of what a link leads to; none when it is not a link, or leads nowhere. */
async function linkTarget(path: string): Promise<WatchedFolder[]> {
  try {
    if (!(await lstat(path)).isSymbolicLink()) return [];
    const target = await realpath(path);
    return [{ folder: dirname(target), name: basename(target) }];
  } catch {
    return [];
  }
}

async function statOrUndefined(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
