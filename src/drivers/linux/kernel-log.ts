import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { uptime } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { KernelLog } from "../../ports/kernel-log.ts";

const pollMs = 1000;
const maxRecordBytes = 8192;

/** The kernel's own log, which gives one record per read. */
export class DeviceKernelLog implements KernelLog {
  readonly #path: string;

  constructor(path = "/dev/kmsg") {
    this.#path = path;
  }

  async run(onMessage: (message: string) => void, signal: AbortSignal): Promise<void> {
    // Waiting inside a read would hold one of Node's few threads for good.
    const file = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    const startedAtUs = uptime() * 1_000_000;
    try {
      while (!signal.aborted) {
        const record = await readRecord(file);
        const parsed = record === undefined ? undefined : parseRecord(record);
        if (parsed !== undefined && parsed.atUs >= startedAtUs) onMessage(parsed.message);
        if (record === undefined) await sleep(pollMs, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      await file.close();
    }
  }
}

/** Undefined when there is nothing new. */
async function readRecord(file: FileHandle): Promise<string | undefined> {
  const buffer = Buffer.alloc(maxRecordBytes);
  try {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
    return bytesRead === 0 ? undefined : buffer.toString("utf8", 0, bytesRead);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EAGAIN") return undefined;
    // The kernel has overwritten the record that came next: the following read finds the oldest left.
    if (code === "EPIPE") return "";
    throw error;
  }
}

/** A record such as "6,339,5140900,-;message" and when it was written, in microseconds since the machine started. */
export function parseRecord(
  record: string,
): { readonly atUs: number; readonly message: string } | undefined {
  const match = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(record);
  return match === null ? undefined : { atUs: Number(match[1]), message: match[2] ?? "" };
}
