import { closeSync, constants, openSync, readSync } from "node:fs";
import { uptime } from "node:os";
import { setImmediate } from "node:timers/promises";
import { sleep } from "../../lib/timers.ts";
import type { KernelLog } from "../../ports/kernel-log.ts";

const pollMs = 1000;
const maxRecordBytes = 8192;
const recordsAtOnce = 100;

/** The kernel's own log, which gives one record per read. */
export class DeviceKernelLog implements KernelLog {
  readonly #path: string;

  constructor(path = "/dev/kmsg") {
    this.#path = path;
  }

  async run(onMessage: (message: string) => void, signal: AbortSignal): Promise<void> {
    // Nothing to read is an error, not a wait: a wait would hold one of Node's few threads for good.
    const file = openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    const startedAtUs = uptime() * 1_000_000;
    try {
      while (!signal.aborted) {
        const records = readRecords(file);
        for (const record of records) {
          const parsed = parseRecord(record);
          if (parsed !== undefined && parsed.atUs >= startedAtUs) onMessage(parsed.message);
        }
        if (records.length === recordsAtOnce) await setImmediate();
        else await sleep(pollMs, signal).catch(() => undefined);
      }
    } finally {
      closeSync(file);
    }
  }
}

/** What came since the last look, or the first part of it. */
function readRecords(file: number): readonly string[] {
  const records: string[] = [];
  const buffer = Buffer.alloc(maxRecordBytes);
  while (records.length < recordsAtOnce) {
    try {
      const bytes = readSync(file, buffer);
      if (bytes === 0) break;
      records.push(buffer.toString("utf8", 0, bytes));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "EAGAIN") break;
      // The kernel has overwritten the record that came next: the following read finds the oldest left.
      if (code !== "EPIPE") throw error;
    }
  }
  return records;
}

/** A record such as "6,339,5140900,-;message" and when it was written, in microseconds since the machine started. */
export function parseRecord(
  record: string,
): { readonly atUs: number; readonly message: string } | undefined {
  const match = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(record);
  return match === null ? undefined : { atUs: Number(match[1]), message: match[2] ?? "" };
}
