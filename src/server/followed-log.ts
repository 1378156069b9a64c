import { open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { compressedName, isCompressed, plainName } from "../model/log/rotated-logs.ts";
import type { LineReader } from "./line-reader.ts";
import { isAbsence, listRotatedLogs, openNewestLog } from "./newest-log.ts";
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
    const { file, before } = await openNewestLog(path, tailLines);
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

  /** The file is no longer written to. */
  get isFinished(): boolean {
    return this.#isRotated;
  }

  /** Continues with the next file, once the current one is at its end. */
  async advance(): Promise<void> {
    for (const name of await this.#newerFiles()) {
      const file = await openRotated(join(dirname(this.#path), name));
      this.#before = name;
      if (file === undefined) continue;
      await this.#replace(file, true);
      return;
    }
    const { file, before } = await openNewestLog(this.#path, undefined);
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
    const newer = (await listRotatedLogs(this.#path)).filter(
      (name) => plainName(name) > this.#before,
    );
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

/** Compressed or not; undefined when it is gone. */
async function openRotated(path: string): Promise<OpenLog | undefined> {
  for (const candidate of [path, compressedName(path)]) {
    try {
      return await openLog(candidate, undefined);
    } catch (error) {
      if (!isAbsence(error)) throw error;
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
