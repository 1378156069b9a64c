// The files that history is kept in: each has what was appended in one span of time, in order.
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { compareText } from "../../lib/compare-text.ts";
import { errorText } from "../../lib/error-text.ts";

/** One file. Its name has its place in the order, and when it was begun. */
export interface HistoryPart {
  readonly number: number;
  readonly beganMs: number;
  readonly path: string;
  /** Up to where it was written: what follows is torn. */
  readonly bytes: number;
}

/** No part is ever written larger: statuses of all pods, and what followed. */
export const maxPartBytes: number = 32 * 1024 * 1024;

const partName = /^(\d{10})-(\d{1,15})\.log$/;
const newline = 0x0a;

/** The parts in a folder, oldest first; none where there is no folder. */
export async function listParts(folder: string): Promise<HistoryPart[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const parts: HistoryPart[] = [];
  for (const name of names.toSorted(compareText)) {
    const [, number, beganMs] = partName.exec(name) ?? [];
    const path = join(folder, name);
    if (number !== undefined) {
      const info = await stat(path).catch(() => undefined);
      const bytes = info?.size ?? 0;
      if (info?.isFile() === true) {
        parts.push({ number: Number(number), beganMs: Number(beganMs), path, bytes });
      }
    } else if (name.endsWith(".jsonl")) {
      // Versions before kept a file for each pod.
      await rm(path, { force: true });
    }
  }
  return parts;
}

/** A new, empty part after the last one. */
export async function beginPart(
  folder: string,
  last: HistoryPart | undefined,
  nowMs: number,
): Promise<HistoryPart> {
  const number = (last?.number ?? 0) + 1;
  const beganMs = Math.round(nowMs);
  const path = join(folder, `${String(number).padStart(10, "0")}-${beganMs}.log`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = await open(path, "wx", 0o600);
  await file.close();
  return { number, beganMs, path, bytes: 0 };
}

/** Writes behind what is there. When that fails half-way the next one begins at the same place. */
export async function appendToPart(part: HistoryPart, data: Buffer): Promise<HistoryPart> {
  const file = await open(part.path, "r+");
  try {
    const { size } = await file.stat();
    // What an earlier write left before it failed; shorter, and what is known of it is not there any more.
    if (size !== part.bytes) await file.truncate(part.bytes);
    let written = 0;
    while (written < data.length) {
      const position = part.bytes + written;
      const { bytesWritten } = await file.write(data, written, data.length - written, position);
      written += bytesWritten;
    }
    return { ...part, bytes: part.bytes + data.length };
  } finally {
    await file.close();
  }
}

/** The part without what an agent was writing when it was killed. */
export async function withoutTornEnd(part: HistoryPart): Promise<HistoryPart> {
  const content = await readPart(part);
  return { ...part, bytes: content.lastIndexOf(newline) + 1 };
}

/** What was written of a part; it may be gone by now. */
export async function readPart({ path, bytes }: HistoryPart): Promise<Buffer> {
  if (bytes > maxPartBytes)
    throw new Error(`it is larger than any that is written: ${bytes} bytes`);
  const file = await open(path, "r");
  try {
    const content = Buffer.allocUnsafe(bytes);
    let read = 0;
    while (read < bytes) {
      const { bytesRead } = await file.read(content, read, bytes - read, read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return content.subarray(0, read);
  } finally {
    await file.close();
  }
}

export async function removePart({ path }: HistoryPart): Promise<void> {
  await rm(path, { force: true });
}

/** Why a part cannot be read, for people. */
export function partProblem({ path }: HistoryPart, error: unknown): string {
  return `cannot read the history file ${path}: ${errorText(error)}`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
