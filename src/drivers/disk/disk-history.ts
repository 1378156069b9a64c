import { startTimer, type Timer } from "../../lib/timers.ts";
import type {
  HistoryEntry,
  HistoryPage,
  HistoryPods,
  HistoryQuery,
  HistoryStore,
  StatusEntry,
  StoredMoment,
} from "../../ports/history.ts";
import { encodeEntry } from "./history-line.ts";
import {
  appendToPart,
  beginPart,
  type HistoryPart,
  listParts,
  maxPartBytes,
  removePart,
  withoutTornEnd,
} from "./history-parts.ts";
import { HistoryReader, type ReadablePart } from "./history-reader.ts";

export interface HistoryLimits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

export interface DiskHistoryOptions {
  readonly folder: string;
  readonly limits: HistoryLimits;
  readonly nowMs: () => number;
  /** Called once until it is written again. */
  readonly onFailure: (error: unknown) => void;
}

/** A burst of pods makes many entries within moments: they are written together. */
const writeAfterMs = 250;
const retryAfterMs = 10_000;
/** What waits for a disk that hangs or is full. */
const maxPendingBytes = 4 * 1024 * 1024;
/** So fine is what goes at once: a thirty-second of the size, half a day of a week. */
const partsByBytes = 32;
const partsByAge = 14;
const largestPartBytes = 2 * 1024 * 1024;
const smallestPartMs = 60_000;

/**
 * History in files that are only appended to. A file that has grown large or old is followed by a new one, which begins with
 * the statuses of all pods, so that any older file can be removed without losing what is true now. See ADR 31.
 */
export class DiskHistory implements HistoryStore {
  readonly #options: DiskHistoryOptions;
  readonly #reader: HistoryReader = new HistoryReader();
  #statuses: () => Iterable<StatusEntry> = () => [];
  #pending: string[] = [];
  #pendingBytes = 0;
  #lost = 0;
  /** Oldest first; undefined before the folder was looked at. */
  #parts: HistoryPart[] | undefined;
  /** How much of the newest part are statuses that it began with. */
  #repeatedBytes = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;

  constructor(options: DiskHistoryOptions) {
    this.#options = options;
  }

  append(entry: HistoryEntry): void {
    const line = encodeEntry(entry);
    if (this.#pendingBytes + line.length > maxPendingBytes) {
      this.#lost++;
      return;
    }
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    this.#writeAfter(this.#hasFailed ? retryAfterMs : writeAfterMs);
  }

  keep(statuses: () => Iterable<StatusEntry>): void {
    this.#statuses = statuses;
  }

  async entries(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    return await this.#reader.entries(await this.#readable(), query, signal);
  }

  async pods(signal: AbortSignal): Promise<HistoryPods> {
    return await this.#reader.pods(await this.#readable(), signal);
  }

  async moment(timeMs: number, signal: AbortSignal): Promise<StoredMoment> {
    return await this.#reader.moment(await this.#readable(), timeMs, signal);
  }

  async flush(): Promise<void> {
    this.#timer?.stop();
    this.#timer = undefined;
    while (this.#writing !== undefined) await this.#writing;
    if (this.#pending.length === 0) return;
    this.#writing = this.#tryWrite();
    await this.#writing;
  }

  #writeAfter(ms: number): void {
    if (this.#timer !== undefined || this.#writing !== undefined) return;
    const write = (): void => {
      this.#timer = undefined;
      this.#writing = this.#tryWrite();
    };
    this.#timer = startTimer(ms, write, { keepsAlive: false });
  }

  /** What is on disk, and behind it what could not be written yet. */
  async #readable(): Promise<readonly ReadablePart[]> {
    await this.flush();
    const parts = this.#parts ?? (await listParts(this.#options.folder));
    const waiting = Buffer.from(this.#pending.join(""));
    const last = parts.at(-1);
    if (last === undefined || waiting.length === 0) return parts;
    return [...parts.slice(0, -1), { ...last, waiting }];
  }

  /** Never rejects: what was not written is tried again. */
  async #tryWrite(): Promise<void> {
    const lines = this.#pending;
    const bytes = this.#pendingBytes;
    const lost = this.#lost;
    this.#pending = [];
    this.#pendingBytes = 0;
    try {
      await this.#write(Buffer.from(`${this.#lossLine(lost)}${lines.join("")}`));
      this.#lost -= lost;
      this.#hasFailed = false;
    } catch (error) {
      this.#pending = [...lines, ...this.#pending];
      this.#pendingBytes += bytes;
      if (!this.#hasFailed) this.#options.onFailure(error);
      this.#hasFailed = true;
    } finally {
      this.#writing = undefined;
      if (this.#pending.length > 0) this.#writeAfter(this.#hasFailed ? retryAfterMs : writeAfterMs);
    }
  }

  #lossLine(lost: number): string {
    if (lost === 0) return "";
    return encodeEntry({ kind: "agent", atMs: this.#options.nowMs(), what: "lost", lost });
  }

  async #write(data: Buffer): Promise<void> {
    const parts = await this.#open();
    const last = parts.at(-1);
    if (last === undefined || this.#isFull(last)) await this.#begin(parts);
    await this.#dropOld(parts, data.length);
    const newest = parts.at(-1);
    if (newest === undefined) throw new Error("there is no part to write to");
    try {
      parts[parts.length - 1] = await appendToPart(newest, data);
    } catch (error) {
      // It may have been removed by hand: what is there is looked at again.
      this.#parts = undefined;
      throw error;
    }
  }

  async #open(): Promise<HistoryPart[]> {
    if (this.#parts !== undefined) return this.#parts;
    const parts = await listParts(this.#options.folder);
    const last = parts.at(-1);
    // What the agent before this one wrote last goes on; one that cannot be read is left as it is.
    const usable = last && (await withoutTornEnd(last).catch(() => undefined));
    if (usable !== undefined) parts[parts.length - 1] = usable;
    else if (last !== undefined) await this.#begin(parts);
    this.#parts = parts;
    return parts;
  }

  #isFull({ bytes, beganMs }: HistoryPart): boolean {
    const { limits, nowMs } = this.#options;
    const most = Math.min(limits.maxBytes / partsByBytes, largestPartBytes);
    const longestMs = Math.max(limits.maxAgeMs / partsByAge, smallestPartMs);
    return bytes - this.#repeatedBytes >= most || nowMs() - beganMs >= longestMs;
  }

  async #begin(parts: HistoryPart[]): Promise<void> {
    const { folder, nowMs } = this.#options;
    const lines: string[] = [];
    let bytes = 0;
    for (const status of this.#statuses()) {
      const line = encodeEntry(status, true);
      if (bytes + line.length > maxPartBytes / 4) break;
      lines.push(line);
      bytes += line.length;
    }
    const repeated = Buffer.from(lines.join(""));
    const begun = await beginPart(folder, parts.at(-1), nowMs());
    try {
      parts.push(await appendToPart(begun, repeated));
    } catch (error) {
      // On a full disk each attempt would leave one.
      await removePart(begun);
      throw error;
    }
    this.#repeatedBytes = repeated.length;
  }

  /** Of what is too old or too much the oldest parts go; the newest always stays. */
  async #dropOld(parts: HistoryPart[], comingBytes: number): Promise<void> {
    const { limits, nowMs } = this.#options;
    let bytes = parts.reduce((sum, part) => sum + part.bytes, comingBytes);
    for (;;) {
      const [oldest, next] = parts;
      if (oldest === undefined || next === undefined) return;
      const isOld = nowMs() - next.beganMs > limits.maxAgeMs;
      if (!isOld && bytes <= limits.maxBytes) return;
      await removePart(oldest);
      this.#reader.forget(oldest);
      parts.shift();
      bytes -= oldest.bytes;
    }
  }
}
