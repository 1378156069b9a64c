import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { Backoff } from "../../lib/backoff.ts";
import { startTimer } from "../../lib/timers.ts";

const maxPendingBytes = 1024 * 1024;
const retryLimits = { initialMs: 10, maxMs: 1_000 };
const lastLinesMs = 1_000;
const lastLinesRetryMs = 10;

/**
 * Writes lines to a file descriptor without waiting for its reader: what the reader does not take is kept up to a
 * bound, and beyond it dropped and counted.
 */
export class LogOutput {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #dropped = 0;
  readonly #backoff = new Backoff(retryLimits);
  /** The reader is gone. */
  #isBroken = false;

  /** `onDropped`: there is room again after so many lines were lost. */
  constructor(fd: number, onDropped: (lines: number) => void) {
    this.#fd = fd;
    this.#onDropped = onDropped;
  }

  write(line: string): void {
    if (this.#isBroken) return;
    const bytes = Buffer.from(line);
    if (this.#pendingBytes + bytes.length > maxPendingBytes) {
      this.#dropped++;
      return;
    }
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    // Others wait already: their timer takes this one along.
    if (this.#pending.length === 1) this.#drain();
  }

  /** At the end of the process: gives the reader a moment to take what is left. */
  flush(): void {
    const idle = new Int32Array(new SharedArrayBuffer(4));
    const deadlineMs = performance.now() + lastLinesMs;
    while (!this.#writePending() && performance.now() < deadlineMs) {
      Atomics.wait(idle, 0, 0, lastLinesRetryMs);
    }
  }

  #drain(): void {
    const before = this.#pendingBytes;
    const isDone = this.#writePending();
    const isRead = this.#pendingBytes < before;
    if (!isDone) {
      if (isRead) this.#backoff.reset();
      startTimer(this.#backoff.nextMs(), () => this.#drain());
    }
    const dropped = this.#dropped;
    if (dropped === 0 || !isRead || this.#isBroken) return;
    this.#dropped = 0;
    this.#onDropped(dropped);
  }

  /** Answers whether nothing is left. */
  #writePending(): boolean {
    try {
      for (let first = this.#pending[0]; first !== undefined; first = this.#pending[0]) {
        const written = writeSync(this.#fd, first);
        this.#pendingBytes -= written;
        if (written < first.length) this.#pending[0] = first.subarray(written);
        else this.#pending.shift();
      }
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") return false;
      this.#isBroken = true;
      this.#pending = [];
      this.#pendingBytes = 0;
    }
    return true;
  }
}

/**
 * Another descriptor for an output of this process that never makes a writer wait, where it leads to a terminal, a pipe or a socket
 * such as the journal's. A file is written as it is.
 */
export function openNonBlocking(fd: number): number {
  const stats = fstatSync(fd);
  if (stats.isFIFO() || stats.isCharacterDevice()) {
    try {
      // Opened again: the flag belongs to the open file, which other processes may share.
      return openSync(
        `/proc/self/fd/${fd}`,
        constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
      );
    } catch {
      // Another user's. Node has made pipes and sockets non-blocking when it opened them.
    }
  }
  return fd;
}
