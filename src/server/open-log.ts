import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { isCompressed } from "../model/log/rotated-logs.ts";
import { FileBytes, findTailStart, LineReader } from "./line-reader.ts";

/** A log file that is being read. */
export interface OpenLog {
  readonly reader: LineReader;
  readonly inode: number;
  /** How far the file was read. */
  position(): number;
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Opens a log, at its last lines where `tailLines` says so; a compressed one is read from its beginning. */
export async function openLog(path: string, tailLines: number | undefined): Promise<OpenLog> {
  // A container must not be able to point the reader elsewhere, nor make it wait on a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error("the log is not a regular file");
    if (isCompressed(path)) return compressedLog(file, stats.ino);
    const start = tailLines === undefined ? 0 : await findTailStart(file, tailLines);
    const bytes = new FileBytes(file, start);
    return {
      reader: new LineReader(() => bytes.next()),
      inode: stats.ino,
      position: () => bytes.position,
      sizeBytes: async () => (await file.stat()).size,
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function compressedLog(file: FileHandle, inode: number): OpenLog {
  const source = file.createReadStream({ autoClose: false });
  const text = createGunzip();
  source.on("error", (error) => text.destroy(error));
  const chunks = source.pipe(text)[Symbol.asyncIterator]();
  const next = async (): Promise<Buffer | undefined> => {
    const { done, value } = await chunks.next();
    return done === true ? undefined : Buffer.from(value);
  };
  return {
    reader: new LineReader(next),
    inode,
    position: () => 0,
    sizeBytes: async () => (await file.stat()).size,
    close: async () => {
      text.destroy();
      source.destroy();
      await file.close();
    },
  };
}
