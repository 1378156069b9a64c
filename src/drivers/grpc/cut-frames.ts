// Answers whose fields are cut while they arrive: a command may print 16 MiB, of which a probe shows 10 KiB.
import { err, ok, type Result } from "../../lib/result.ts";
import { checkFrameHeader, headerBytes, type MessageReader } from "./grpc-frames.ts";

/** All that is kept of one message. */
const maxMessageBytes = 64 * 1024;
const maxVarintBytes = 10;

type Part =
  | { readonly kind: "header"; readonly bytes: number[] }
  | { readonly kind: "tag"; readonly bytes: number[] }
  | { readonly kind: "varint"; readonly bytes: number[] }
  | { readonly kind: "length"; readonly tag: readonly number[]; readonly bytes: number[] }
  | { readonly kind: "content"; left: number; keep: number };

/** Reads messages as FrameReader does, but holds only the first bytes of every field of bytes or text. */
export class CutFrameReader implements MessageReader {
  readonly #maxFieldBytes: number;
  #part: Part = { kind: "header", bytes: [] };
  #left = 0;
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(maxFieldBytes: number) {
    this.#maxFieldBytes = maxFieldBytes;
  }

  take(piece: Buffer): Result<readonly Buffer[], string> {
    const messages: Buffer[] = [];
    let at = 0;
    while (at < piece.length) {
      const part = this.#part;
      if (part.kind === "content") {
        at += this.#takeContent(part, piece.subarray(at));
      } else {
        const problem = this.#takeByte(part, piece[at] ?? 0);
        if (problem !== undefined) return err(problem);
        at += 1;
      }
      if (this.#left === 0 && this.#part.kind === "tag") messages.push(this.#finish());
    }
    return ok(messages);
  }

  #takeContent(part: Extract<Part, { kind: "content" }>, bytes: Buffer): number {
    const taken = Math.min(part.left, bytes.length);
    // A copy: what is kept must not hold all that arrived with it.
    if (part.keep > 0) this.#keep(Buffer.from(bytes.subarray(0, Math.min(part.keep, taken))));
    part.keep -= Math.min(part.keep, taken);
    part.left -= taken;
    this.#left -= taken;
    if (part.left === 0) this.#part = { kind: "tag", bytes: [] };
    return taken;
  }

  #takeByte(part: Exclude<Part, { kind: "content" }>, byte: number): string | undefined {
    part.bytes.push(byte);
    if (part.kind === "header") return this.#takeHeader(part.bytes);
    this.#left -= 1;
    const isWhole = byte < 0x80;
    if (!isWhole && part.bytes.length >= maxVarintBytes)
      return "received a number that is too long";
    if (!isWhole) return this.#left === 0 ? "received a message that breaks off" : undefined;
    switch (part.kind) {
      case "tag":
        return this.#takeTag(part.bytes);
      case "varint":
        this.#keep(Buffer.from(part.bytes));
        this.#part = { kind: "tag", bytes: [] };
        return undefined;
      case "length":
        return this.#takeLength(part.tag, part.bytes);
    }
  }

  #takeHeader(bytes: readonly number[]): string | undefined {
    if (bytes.length < headerBytes) return undefined;
    const header = checkFrameHeader(Buffer.from(bytes));
    if (!header.ok) return header.error;
    this.#left = header.value;
    this.#part = { kind: "tag", bytes: [] };
    return undefined;
  }

  #takeTag(tag: readonly number[]): string | undefined {
    const wireType = (tag[0] ?? 0) & 7;
    if (wireType === 2) {
      this.#part = { kind: "length", tag, bytes: [] };
      return undefined;
    }
    this.#keep(Buffer.from(tag));
    if (wireType === 0) this.#part = { kind: "varint", bytes: [] };
    else if (wireType === 1) this.#part = { kind: "content", left: 8, keep: 8 };
    else if (wireType === 5) this.#part = { kind: "content", left: 4, keep: 4 };
    else return `received a field of an unknown kind: ${wireType}`;
    return undefined;
  }

  #takeLength(tag: readonly number[], bytes: readonly number[]): string | undefined {
    const length = bytes.reduce((sum, byte, index) => sum + (byte & 0x7f) * 2 ** (7 * index), 0);
    if (length > this.#left) return "received a field that is longer than its message";
    const room = Math.max(0, maxMessageBytes - this.#keptBytes);
    const keep = Math.min(length, this.#maxFieldBytes, room);
    this.#keep(Buffer.from([...tag, ...varint(keep)]));
    this.#part =
      length === 0 ? { kind: "tag", bytes: [] } : { kind: "content", left: length, keep };
    return undefined;
  }

  #keep(bytes: Buffer): void {
    this.#kept.push(bytes);
    this.#keptBytes += bytes.length;
  }

  #finish(): Buffer {
    const message = Buffer.concat(this.#kept);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#part = { kind: "header", bytes: [] };
    return message;
  }
}

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
}
