import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { findRotatedLogs, plainName } from "../model/log/rotated-logs.ts";
import { type OpenLog, openLog } from "./open-log.ts";

/** So often a log may be rotated while it is being opened. */
const maxAttempts = 10;

export interface NewestLog {
  readonly file: OpenLog;
  /** The newest file that was rotated away before this one; "" when there is none. */
  readonly before: string;
}

/** Opens the log in use; between its rotation and a new one that is the file just rotated away. */
export async function openNewestLog(
  path: string,
  tailLines: number | undefined,
): Promise<NewestLog> {
  for (let attempt = 1; ; attempt++) {
    try {
      const newest = await openOnce(path, tailLines);
      if (newest !== undefined) return newest;
    } catch (error) {
      if (!isAbsence(error) || attempt >= maxAttempts) throw error;
    }
  }
}

/** Undefined when it was rotated meanwhile: whether it is among the rotated ones is unknown then. */
async function openOnce(
  path: string,
  tailLines: number | undefined,
): Promise<NewestLog | undefined> {
  const inode = await inodeOf(path);
  const rotated = await listRotatedLogs(path);
  const last = rotated.at(-1);
  const isBetween = inode === undefined && last !== undefined;
  const current = isBetween ? join(dirname(path), last) : path;
  const before = isBetween ? rotated.at(-2) : last;
  const file = await openLog(current, tailLines);
  if (isBetween || file.inode === inode) return { file, before: plainName(before ?? "") };
  await file.close();
  return undefined;
}

/** The rotated files of a log that still count, oldest first. */
export async function listRotatedLogs(path: string): Promise<readonly string[]> {
  return findRotatedLogs(await readdir(dirname(path)), basename(path)).inUse;
}

export function isAbsence(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}
