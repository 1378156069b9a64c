import type { FileHandle } from "node:fs/promises";
import { ByteQueue } from "./byte-queue.ts";

const chunkBytes = 64 * 1024;
const tailBlockBytes = 16 * 1024;
const newline = 0x0a;
/** A runtime cuts lines long before; a file with a longer one is not a container log. */
const maxLineBytes = 16 * 1024 * 1024;

/** Gives the next bytes of a text; undefined when there are none (yet). */
export type NextBytes = () => Promise<Buffer | undefined>;

/** Reads a text line by line; lines keep their newline. */
export class LineReader {
  readonly #pending = new ByteQueue();
  /** So many of the pending bytes are known to hold no newline. */
  #searched = 0;
  readonly #nextBytes: NextBytes;

  constructor(nextBytes: NextBytes) {
    this.#nextBytes = nextBytes;
  }

  /** The next complete line; undefined at the end of the text, where an incomplete one is kept for later. */
  async readLine(): Promise<Buffer | undefined> {
    for (;;) {
      const end = this.#pending.peek(this.#pending.length).indexOf(newline, this.#searched);
      if (end >= 0) {
        this.#searched = 0;
        return this.#pending.take(end + 1);
      }
      this.#searched = this.#pending.length;
      if (this.#searched > maxLineBytes) {
        throw new Error(`a line of the log is longer than ${maxLineBytes} bytes`);
      }
      const bytes = await this.#nextBytes();
      if (bytes === undefined) return undefined;
      this.#pending.push(bytes);
    }
  }

  /** What is left after the last newline. */
  takeIncompleteLine(): Buffer | undefined {
    if (this.#pending.length === 0) return undefined;
    this.#searched = 0;
    return this.#pending.take(this.#pending.length);
  }
}

/** The bytes of a file from a place on, also those that are written to it later. */
export class FileBytes {
  #position: number;
  readonly #file: FileHandle;

  constructor(file: FileHandle, position: number) {
    this.#file = file;
    this.#position = position;
  }

  /** How far the file was read. */
  get position(): number {
    return this.#position;
  }

  async next(): Promise<Buffer | undefined> {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const { bytesRead } = await this.#file.read(chunk, 0, chunkBytes, this.#position);
    if (bytesRead === 0) return undefined;
    this.#position += bytesRead;
    return chunk.subarray(0, bytesRead);
  }
}

/** Where the last `lines` complete lines of a file begin; an incomplete last line does not count. */
export async function findTailStart(file: FileHandle, lines: number): Promise<number> {
  const block = Buffer.allocUnsafe(tailBlockBytes);
  let right = (await file.stat()).size;
  let newlinesToPass = lines;
  while (right > 0) {
    const left = Math.max(0, right - tailBlockBytes);
    const { bytesRead } = await file.read(block, 0, right - left, left);
    for (let index = bytesRead - 1; index >= 0; index--) {
      if (block[index] !== newline) continue;
      if (newlinesToPass === 0) return left + index + 1;
      newlinesToPass--;
    }
    right = left;
  }
  return 0;
}
