// Frames of SPDY/3.1, as far as a client needs them that opens every stream itself.
import { ByteQueue } from "../byte-queue.ts";

export type Frame =
  | {
      readonly kind: "data";
      readonly streamId: number;
      readonly isLast: boolean;
      readonly data: Buffer;
    }
  | {
      readonly kind: "open";
      readonly streamId: number;
      /** Compressed. */
      readonly headerBlock: Buffer;
    }
  | { readonly kind: "reply"; readonly streamId: number; readonly isLast: boolean }
  | { readonly kind: "reset"; readonly streamId: number; readonly status: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "go-away" }
  /** Settings, further headers and window updates: nothing here depends on them. */
  | { readonly kind: "other"; readonly type: number };

const headerBytes = 8;
const version = 3;
const lastFlag = 0x01;
const types = { open: 1, reply: 2, reset: 3, ping: 6, goAway: 7 } as const;
const idMask = 0x7fffffff;
/** Far more than a server sends in one frame; bounds what is held of an incomplete one. */
const longestFrame = 4 * 1024 * 1024;

export function encodeFrame(frame: Frame): Buffer {
  switch (frame.kind) {
    case "data":
      return withHeader(frame.streamId, frame.isLast ? lastFlag : 0, frame.data);
    case "open":
      // After the id: no stream it belongs to, priority 0, no credential slot.
      return control(
        types.open,
        Buffer.concat([words(frame.streamId, 0), Buffer.alloc(2), frame.headerBlock]),
      );
    case "reply":
      return control(types.reply, words(frame.streamId), frame.isLast ? lastFlag : 0);
    case "reset":
      return control(types.reset, words(frame.streamId, frame.status));
    case "ping":
      return control(types.ping, words(frame.id));
    case "go-away":
      return control(types.goAway, words(0, 0));
    case "other":
      return control(frame.type, Buffer.alloc(0));
    default:
      return frame satisfies never;
  }
}

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  readonly #pending = new ByteQueue();

  /** The frames that are complete now. Throws on bytes that are not SPDY/3. */
  push(chunk: Buffer): Frame[] {
    this.#pending.push(chunk);
    const frames: Frame[] = [];
    while (this.#pending.length >= headerBytes) {
      const header = this.#pending.peek(headerBytes);
      const length = header.readUIntBE(5, 3);
      if (length > longestFrame) throw new Error(`a frame of ${length} bytes is too long`);
      if (this.#pending.length < headerBytes + length) break;
      this.#pending.take(headerBytes);
      const payload = this.#pending.take(length);
      frames.push(decodeFrame(header.readUInt32BE(0), header[4] ?? 0, payload));
    }
    return frames;
  }
}

function decodeFrame(head: number, flags: number, payload: Buffer): Frame {
  const isLast = (flags & lastFlag) !== 0;
  const isControl = head > idMask;
  if (!isControl) return { kind: "data", streamId: head, isLast, data: payload };
  if (((head >>> 16) & 0x7fff) !== version) throw new Error("the server does not speak SPDY/3");
  const type = head & 0xffff;
  switch (type) {
    case types.open:
      return { kind: "open", streamId: streamId(payload), headerBlock: payload.subarray(10) };
    case types.reply:
      return { kind: "reply", streamId: streamId(payload), isLast };
    case types.reset:
      return { kind: "reset", streamId: streamId(payload), status: payload.readUInt32BE(4) };
    case types.ping:
      return { kind: "ping", id: payload.readUInt32BE(0) };
    case types.goAway:
      return { kind: "go-away" };
    default:
      return { kind: "other", type };
  }
}

function streamId(payload: Buffer): number {
  return payload.readUInt32BE(0) & idMask;
}

function control(type: number, payload: Buffer, flags = 0): Buffer {
  return withHeader(((0x8000 | version) << 16) | type, flags, payload);
}

function withHeader(head: number, flags: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32BE(head >>> 0);
  header.writeUInt32BE(((flags << 24) | payload.length) >>> 0, 4);
  return Buffer.concat([header, payload]);
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}
