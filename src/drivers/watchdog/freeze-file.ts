import { constants, open } from "node:fs/promises";
import { parseJsonText } from "../../lib/json-text.ts";
import { podUid } from "../../model/ids.ts";
import type { FreezeReport } from "../../ports/watchdog.ts";

const maxReportBytes = 64 * 1024;

/** Undefined when there is no report, or the file is not one. */
export async function readReport(path: string): Promise<FreezeReport | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(maxReportBytes));
      return decode(parseJsonText(buffer.toString("utf8", 0, bytesRead)));
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

function decode(value: unknown): FreezeReport | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const {
    atMs,
    pid,
    kind,
    stillMs,
    podUid: uid,
    step,
    memoryBytes,
    stack,
  } = value as Readonly<Record<string, unknown>>;
  return {
    atMs: Number(atMs),
    pid: Number(pid),
    kind: kind === "loop" ? "loop" : "thread",
    stillMs: Number(stillMs),
    podUid: podUid(String(uid)),
    step: String(step),
    memoryBytes: Number(memoryBytes),
    stack: Array.isArray(stack) ? stack.map(String) : [],
  };
}
