const newline = 0x0a;

/**
 * Cuts a stream of bytes into lines. A line is decoded only when it is whole, so that a character may come in pieces;
 * one that is longer than `maxLineBytes` is refused by throwing.
 */
export class JsonLines {
  readonly #maxLineBytes: number;
  readonly #onLine: (line: string) => void;
  #pieces: Buffer[] = [];
  #heldBytes = 0;

  constructor(maxLineBytes: number, onLine: (line: string) => void) {
    this.#maxLineBytes = maxLineBytes;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      this.#hold(chunk.subarray(start, end === -1 ? chunk.length : end));
      if (end === -1) return;
      this.#emit();
      start = end + 1;
    }
  }

  /** Whether the stream stopped inside a line. */
  get isMidLine(): boolean {
    return this.#heldBytes > 0;
  }

  #hold(piece: Buffer): void {
    this.#heldBytes += piece.length;
    if (this.#heldBytes > this.#maxLineBytes) {
      throw new Error(`the server sent a line longer than ${this.#maxLineBytes} bytes`);
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }

  #emit(): void {
    const [only] = this.#pieces;
    const line =
      this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#heldBytes = 0;
    if (line.length > 0) this.#onLine(line.toString("utf8"));
  }
}
