// Reads a container's log file, once or following it as it grows and is rotated.
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { LogFilter, type LogStream } from "../model/log/log-filter.ts";
import type { LogTime } from "../model/log/log-time.ts";
import { FileChanges } from "./file-changes.ts";
import { findTailStart, LineReader } from "./line-reader.ts";

export interface LogReadOptions {
  readonly streams: "all" | LogStream;
  readonly timestamps: boolean;
  readonly tailLines?: number | undefined;
  readonly limitBytes?: number | undefined;
  readonly since?: LogTime | undefined;
  /** Present = follow; answers whether nothing will be written any more. */
  readonly followUntil?: (() => boolean) | undefined;
}

/** Resolves when the reader can take more. */
export type LogSink = (stream: LogStream, bytes: Uint8Array) => Promise<void> | void;

interface OpenLog {
  readonly file: FileHandle;
  readonly reader: LineReader;
  readonly inode: number;
}

/** Rejects with a text for people when the file is not a log; resolves early when `signal` aborts. */
export async function readLog(
  path: string,
  options: LogReadOptions,
  sink: LogSink,
  signal: AbortSignal,
): Promise<void> {
  const { followUntil, tailLines, ...selection } = options;
  const maxLines = followUntil === undefined ? tailLines : undefined;
  const filter = new LogFilter({ ...selection, maxLines });
  let log = await openLog(path, tailLines);
  try {
    if (filter.isDone) return;
    if (followUntil === undefined) {
      if (await copyLines(log.reader, filter, sink, signal)) return;
      const rest = log.reader.takeIncompleteLine();
      if (rest !== undefined) await copyLine(rest, filter, sink);
      return;
    }
    using changes = new FileChanges(path);
    while (!signal.aborted) {
      // Asked before reading: what the container wrote before it ended is then read for certain.
      const finished = followUntil();
      const replaced = await isReplaced(path, log);
      if (await copyLines(log.reader, filter, sink, signal)) return;
      if (replaced) {
        await log.file.close();
        log = await openLog(path, undefined);
      } else if (finished) {
        return;
      } else {
        await changes.next(signal);
      }
    }
  } finally {
    await log.file.close();
  }
}

async function openLog(path: string, tailLines: number | undefined): Promise<OpenLog> {
  // A container must not be able to point the reader elsewhere, nor make it wait on a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error("the log is not a regular file");
    const start = tailLines === undefined ? 0 : await findTailStart(file, tailLines);
    return { file, reader: new LineReader(file, start), inode: stats.ino };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Rotated away and there is a new file, or cut short in place. A file that is gone may come back. */
async function isReplaced(path: string, { reader, inode }: OpenLog): Promise<boolean> {
  try {
    const stats = await stat(path);
    return stats.ino !== inode || stats.size < reader.position;
  } catch {
    return false;
  }
}

/** True when no further line is wanted. */
async function copyLines(
  reader: LineReader,
  filter: LogFilter,
  sink: LogSink,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    const line = await reader.readLine();
    if (line === undefined) return false;
    if (await copyLine(line, filter, sink)) return true;
  }
  return true;
}

async function copyLine(line: Uint8Array, filter: LogFilter, sink: LogSink): Promise<boolean> {
  const outcome = filter.next(line);
  if (outcome.kind === "fail") throw new Error(outcome.message);
  if (outcome.kind !== "write") return outcome.kind === "end" || filter.isDone;
  await sink(outcome.stream, outcome.bytes);
  return outcome.isLast || filter.isDone;
}
