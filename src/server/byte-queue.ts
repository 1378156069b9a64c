/**
 * Bytes that came in pieces, until enough of them are there. Every byte is copied a bounded number of times, however
 * small the pieces are; joining all that is there with every new piece would copy quadratically.
 */
export class ByteQueue {
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** The buffer has room behind its end that nothing else writes to. */
  #isOwn = false;

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Buffer): void {
    if (this.length === 0) {
      // Mostly a piece is whole: it is used where it lies.
      this.#bytes = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      this.#isOwn = false;
      return;
    }
    if (!this.#isOwn || this.#bytes.length - this.#end < chunk.length) {
      const larger = Buffer.allocUnsafe(2 * (this.length + chunk.length));
      const length = this.#bytes.copy(larger, 0, this.#start, this.#end);
      this.#bytes = larger;
      this.#start = 0;
      this.#end = length;
      this.#isOwn = true;
    }
    this.#end += chunk.copy(this.#bytes, this.#end);
  }

  /** The first bytes, at most `length` of them, without taking them. */
  peek(length: number): Buffer {
    return this.#bytes.subarray(this.#start, Math.min(this.#end, this.#start + length));
  }

  /** Takes the first bytes, which must be there; they are not written to later. */
  take(length: number): Buffer {
    const taken = this.peek(length);
    this.#start += taken.length;
    return taken;
  }
}
