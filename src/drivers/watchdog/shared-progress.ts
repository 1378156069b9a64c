import { type PodUid, podUid } from "../../model/ids.ts";
import type { Progress } from "../../ports/watchdog.ts";

const cells = { turns: 0, ticks: 1, end: 2, stepBytes: 3 } as const;
const cellBytes = 4 * Int32Array.BYTES_PER_ELEMENT;
const maxStepBytes = 1024;

/** What the agent's thread writes and the watchdog's reads, in memory that they share. */
export class SharedProgress implements Progress {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #text: Buffer;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(cellBytes + maxStepBytes)) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer, 0, cellBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#text = Buffer.from(buffer, cellBytes, maxStepBytes);
  }

  noteTurn(): void {
    Atomics.add(this.#cells, cells.turns, 1);
  }

  /** The thread runs, whatever the loop does. */
  noteTick(): void {
    Atomics.add(this.#cells, cells.ticks, 1);
  }

  noteStep(podUid: PodUid, step: string): void {
    Atomics.store(this.#cells, cells.stepBytes, this.#text.write(`${podUid}\n${step}`));
  }

  get turns(): number {
    return Atomics.load(this.#cells, cells.turns);
  }

  get ticks(): number {
    return Atomics.load(this.#cells, cells.ticks);
  }

  get step(): { readonly podUid: PodUid; readonly step: string } {
    const bytes = Math.min(Atomics.load(this.#cells, cells.stepBytes), maxStepBytes);
    const [uid = "", step = ""] = this.#text.toString("utf8", 0, bytes).split("\n");
    return { podUid: podUid(uid), step };
  }

  /** The agent ends: it need not be watched. */
  end(): void {
    Atomics.store(this.#cells, cells.end, 1);
    Atomics.notify(this.#cells, cells.end);
  }

  /** Blocks the thread that calls it; answers whether `end` was called. */
  waitForEnd(ms: number): boolean {
    return Atomics.wait(this.#cells, cells.end, 0, ms) !== "timed-out";
  }
}
