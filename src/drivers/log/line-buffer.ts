import { startTimer } from "../../lib/timers.ts";

interface LineOutput {
  write(line: string): void;
  flush(): void;
}

interface LineBufferSettings {
  /** Lines are handed on once they have so many bytes together; 0 = each at once. */
  readonly bufferBytes: number;
  /** How long a line waits at most. */
  readonly flushMs: number;
}

/** Collects lines and hands them on together. */
export class LineBuffer implements LineOutput {
  readonly #output: LineOutput;
  readonly #settings: LineBufferSettings;
  #lines: string[] = [];
  #bytes = 0;

  constructor(output: LineOutput, settings: LineBufferSettings) {
    this.#output = output;
    this.#settings = settings;
  }

  write(line: string): void {
    this.#lines.push(line);
    this.#bytes += Buffer.byteLength(line);
    if (this.#bytes >= this.#settings.bufferBytes) this.#handOn();
    else if (this.#lines.length === 1) startTimer(this.#settings.flushMs, () => this.#handOn());
  }

  flush(): void {
    this.#handOn();
    this.#output.flush();
  }

  #handOn(): void {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    for (const line of lines) this.#output.write(line);
  }
}
