import { err, ok, type Result } from "../../lib/result.ts";

// A byte that says whether the message is compressed, then its length.
export const headerBytes = 5;
const defaultMaxBytes = 16 * 1024 * 1024;

/** A message as gRPC sends it over a stream of HTTP/2. */
export function encodeFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + message.length);
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headerBytes);
  return frame;
}

/** Takes the pieces that a stream comes in. */
export interface MessageReader {
  /** The messages that are complete with this piece; an error ends the stream. */
  take(piece: Buffer): Result<readonly Buffer[], string>;
}

/** How long the message is that a header announces. */
export function checkFrameHeader(
  header: Buffer,
  maxBytes: number = defaultMaxBytes,
): Result<number, string> {
  const length = header.readUInt32BE(1);
  if (header.readUInt8(0) !== 0) return err("received a compressed message, but asked for none");
  if (length > maxBytes) {
    return err(`received a message of ${length} bytes, more than ${maxBytes}`);
  }
  return ok(length);
}

/** Puts the messages of a stream together from the pieces it comes in. */
export class FrameReader implements MessageReader {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #wantedBytes = headerBytes;

  constructor(maxBytes: number = defaultMaxBytes) {
    this.#maxBytes = maxBytes;
  }

  take(piece: Buffer): Result<readonly Buffer[], string> {
    this.#pending.push(piece);
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes < this.#wantedBytes) return ok([]);
    let bytes = this.#pending.length === 1 ? piece : Buffer.concat(this.#pending);
    const messages: Buffer[] = [];
    this.#wantedBytes = headerBytes;
    while (bytes.length >= headerBytes) {
      const length = checkFrameHeader(bytes, this.#maxBytes);
      if (!length.ok) return length;
      this.#wantedBytes = headerBytes + length.value;
      if (bytes.length < this.#wantedBytes) break;
      messages.push(bytes.subarray(headerBytes, this.#wantedBytes));
      bytes = bytes.subarray(this.#wantedBytes);
      this.#wantedBytes = headerBytes;
    }
    this.#pending = bytes.length === 0 ? [] : [bytes];
    this.#pendingBytes = bytes.length;
    return ok(messages);
  }
}
