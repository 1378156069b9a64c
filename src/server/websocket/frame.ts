// Frames of the WebSocket protocol (RFC 6455), as a server reads and writes them.
import { ByteQueue } from "../byte-queue.ts";

export type Message =
  | { readonly kind: "data"; readonly data: Buffer; readonly isText: boolean }
  | { readonly kind: "ping"; readonly data: Buffer }
  | { readonly kind: "close" };

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const longestControl = 125;
/** The longest header of a frame: two bytes, the length and the mask. */
const maxHeaderBytes = 14;
/** Each costs an object, also an empty one. */
const maxFragments = 1000;

/** One whole message to a client. */
export function encodeMessage(
  kind: "text" | "binary" | "close" | "pong",
  data: Uint8Array,
): Buffer {
  const first = 0x80 | opcodes[kind];
  const { length } = data;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), data]);
  if (length < 0x10000) {
    return Buffer.concat([Buffer.from([first, 126, length >> 8, length & 0xff]), data]);
  }
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, data]);
}

interface RawFrame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly data: Buffer;
}

/** Puts messages together from whatever pieces a client's bytes come in. Throws when they break the protocol. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #pending = new ByteQueue();
  #parts: Buffer[] | undefined;
  #isText = false;
  #partsLength = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  *push(bytes: Buffer): Generator<Message> {
    this.#pending.push(bytes);
    for (;;) {
      const frame = this.#takeFrame();
      if (frame === undefined) return;
      const message = this.#accept(frame);
      if (message !== undefined) yield message;
    }
  }

  /** Undefined while a frame is not there in whole. */
  #takeFrame(): RawFrame | undefined {
    const header = this.#pending.peek(maxHeaderBytes);
    const [first, second] = header;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0) throw new Error("a frame has bits of an extension");
    if ((second & 0x80) === 0) throw new Error("a client's frame is not masked");
    const short = second & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const dataStart = 2 + lengthBytes + 4;
    if (header.length < dataStart) return undefined;
    const length =
      lengthBytes === 8
        ? Number(header.readBigUInt64BE(2))
        : lengthBytes === 2
          ? header.readUInt16BE(2)
          : short;
    const opcode = first & 0x0f;
    const isLast = (first & 0x80) !== 0;
    if (opcode >= opcodes.close && (length > longestControl || !isLast)) {
      throw new Error("a control frame is too long or in parts");
    }
    if (length > this.#maxBytes) throw new Error("a frame is too long");
    if (this.#pending.length < dataStart + length) return undefined;
    const mask = this.#pending.take(dataStart).subarray(dataStart - 4);
    const data = Buffer.from(this.#pending.take(length));
    for (let index = 0; index < length; index++) {
      data[index] = (data[index] ?? 0) ^ (mask[index & 3] ?? 0);
    }
    return { opcode, isLast, data };
  }

  #accept({ opcode, isLast, data }: RawFrame): Message | undefined {
    switch (opcode) {
      case opcodes.close:
        return { kind: "close" };
      case opcodes.ping:
        return { kind: "ping", data };
      case opcodes.pong:
        return undefined;
      case opcodes.text:
      case opcodes.binary:
        if (this.#parts !== undefined) throw new Error("a message begins within another");
        this.#parts = [];
        this.#isText = opcode === opcodes.text;
        this.#partsLength = 0;
        break;
      case opcodes.continuation:
        if (this.#parts === undefined) throw new Error("a message continues that did not begin");
        break;
      default:
        throw new Error("a frame is of no known kind");
    }
    this.#parts.push(data);
    this.#partsLength += data.length;
    if (this.#partsLength > this.#maxBytes) throw new Error("a message is too long");
    if (this.#parts.length > maxFragments) throw new Error("a message has too many fragments");
    if (!isLast) return undefined;
    const whole = Buffer.concat(this.#parts, this.#partsLength);
    this.#parts = undefined;
    return { kind: "data", data: whole, isText: this.#isText };
  }
}
