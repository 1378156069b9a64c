// Reads a container's log file, once or following it as it grows and is rotated.
import { sleep } from "../lib/timers.ts";
import type { LogTime } from "../model/log/log-time.ts";
import { FileChanges } from "./file-changes.ts";
import { FollowedLog } from "./followed-log.ts";
import type { LineReader } from "./line-reader.ts";
import { LogFilter, type LogStream } from "./log-filter.ts";
import { openNewestLog } from "./newest-log.ts";

/** How long a runtime may keep writing what it has buffered to a log that was rotated away. */
const lastWritesMs = 250;

/** Answers whether nothing will be written to a log any more. */
type LogEnd = () => boolean | Promise<boolean>;

export interface LogReadOptions {
  readonly streams: "all" | LogStream;
  readonly timestamps: boolean;
  readonly tailLines?: number | undefined;
  readonly limitBytes?: number | undefined;
  readonly since?: LogTime | undefined;
  /** Present = follow. */
  readonly followUntil?: LogEnd | undefined;
}

/** Resolves when the reader can take more. */
export type LogSink = (stream: LogStream, bytes: Uint8Array) => Promise<void> | void;

/** Takes lines of the log; true when no further line is wanted. */
type Copy = (reader: LineReader, isWhole: boolean) => Promise<boolean>;

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
  const copy: Copy = async (reader, isWhole) => {
    if (await copyLines(reader, filter, sink, signal)) return true;
    const rest = isWhole ? reader.takeIncompleteLine() : undefined;
    return rest !== undefined && copyLine(rest, filter, sink);
  };
  if (followUntil !== undefined) {
    await followLog(await FollowedLog.open(path, tailLines), { path, followUntil, copy }, signal);
    return;
  }
  const { file } = await openNewestLog(path, tailLines);
  try {
    if (!filter.isDone) await copy(file.reader, true);
  } finally {
    await file.close();
  }
}

interface FollowRequest {
  readonly path: string;
  readonly followUntil: LogEnd;
  readonly copy: Copy;
}

async function followLog(
  log: FollowedLog,
  { path, followUntil, copy }: FollowRequest,
  signal: AbortSignal,
): Promise<void> {
  try {
    using changes = new FileChanges(path);
    while (!signal.aborted) {
      // Asked before reading: what the container wrote before it ended is then read for certain.
      const finished = await followUntil();
      const replaced = await log.isReplaced();
      if (await copy(log.reader, log.isFinished)) return;
      if (replaced) {
        if (!log.isFinished) {
          await sleep(lastWritesMs, signal).catch(() => undefined);
          if (await copy(log.reader, true)) return;
        }
        await log.advance();
      } else if (finished) {
        return;
      } else {
        await changes.next(signal);
      }
    }
  } finally {
    await log.close();
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
