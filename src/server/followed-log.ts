import { open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  compressedName,
  findRotatedLogs,
  isCompressed,
  plainName,
} from "../model/log/rotated-logs.ts";
import type { LineReader } from "./line-reader.ts";
import { type OpenLog, openLog } from "./open-log.ts";

/** One log through all its files: those that are rotated away before they were read are read all the same. */
export class FollowedLog {
  readonly #path: string;
  #file: OpenLog;
  /** The newest file that was rotated away before the one that is read. */
  #before: string;
  /** The file that is read was found among those rotated away. */
  #isRotated = false;

  private constructor(path: string, file: OpenLog, before: string) {
    this.#path = path;
    this.#file = file;
    this.#before = before;
  }

  static async open(path: string, tailLines: number | undefined): Promise<FollowedLog> {
    const { file, before } = await openNewest(path, tailLines);
    return new FollowedLog(path, file, before);
  }

  get reader(): LineReader {
    return this.#file.reader;
  }

  /** Nothing more comes to the file that is read: there is a newer one, or it was cut short in place. */
  async isReplaced(): Promise<boolean> {
    if (this.#isRotated) return true;
    try {
      const { ino, size } = await stat(this.#path);
      return ino !== this.#file.inode || size < this.#file.position();
    } catch {
      // It may come back.
      return false;
    }
  }

  /** The file is one that nobody writes to any more. */
  get isFinished(): boolean {
    return this.#isRotated;
  }

  /** Goes on to the next file, once the one that is read is at its end. */
  async advance(): Promise<void> {
    for (const name of await this.#newerFiles()) {
      const file = await openRotated(join(dirname(this.#path), name));
      this.#before = name;
      if (file === undefined) continue;
      await this.#replace(file, true);
      return;
    }
    const { file, before } = await openNewest(this.#path, undefined);
    await this.#replace(file, false);
    this.#before = before;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #replace(file: OpenLog, isRotated: boolean): Promise<void> {
    await this.#file.close();
    this.#file = file;
    this.#isRotated = isRotated;
  }

  /** Rotated away since the file that is read was opened, oldest first. */
  async #newerFiles(): Promise<readonly string[]> {
    const newer = (await rotatedFiles(this.#path)).filter((name) => plainName(name) > this.#before);
    const plain = newer.map(plainName);
    const [oldest] = newer;
    if (this.#isRotated || oldest === undefined) return plain;
    return (await this.#isOwn(join(dirname(this.#path), oldest))) ? plain.slice(1) : plain;
  }

  /** Whether a rotated file is the one that is being read. */
  async #isOwn(path: string): Promise<boolean> {
    if (isCompressed(path)) {
      return (await uncompressedSize(path)) === (await this.#file.sizeBytes()) % 2 ** 32;
    }
    return stat(path).then(
      ({ ino }) => ino === this.#file.inode,
      () => false,
    );
  }
}

/** The log in use, with the newest file that was rotated away before it. */
async function openNewest(
  path: string,
  tailLines: number | undefined,
): Promise<{ readonly file: OpenLog; readonly before: string }> {
  for (;;) {
    const file = await openLog(path, tailLines);
    const before = plainName((await rotatedFiles(path)).at(-1) ?? "");
    const isSame = await stat(path).then(
      ({ ino }) => ino === file.inode,
      () => true,
    );
    if (isSame) return { file, before };
    // Rotated meanwhile: whether it is among those names cannot be told.
    await file.close();
  }
}

async function rotatedFiles(path: string): Promise<readonly string[]> {
  return findRotatedLogs(await readdir(dirname(path)), basename(path)).inUse;
}

/** Compressed or not; undefined when it is gone. */
async function openRotated(path: string): Promise<OpenLog | undefined> {
  for (const candidate of [path, compressedName(path)]) {
    try {
      return await openLog(candidate, undefined);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
  return undefined;
}

/** As the last four bytes of a gzip file have it. */
async function uncompressedSize(path: string): Promise<number | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const trailer = Buffer.alloc(4);
    await file.read(trailer, 0, 4, Math.max(0, size - 4));
    return trailer.readUInt32LE();
  } finally {
    await file.close();
  }
}
