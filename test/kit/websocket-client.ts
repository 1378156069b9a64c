// A client's end of a WebSocket, for tests.
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

/** What a client sends to become a WebSocket of that protocol. */
export function webSocketHeaders(protocol: string): Record<string, string> {
  return {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    "Sec-WebSocket-Protocol": protocol,
  };
}

/** One masked frame. */
export function clientFrame(opcode: number, data: Uint8Array, isLast = true): Buffer {
  const { length } = data;
  const size =
    length < 126
      ? [0x80 | length]
      : length < 0x10000
        ? [0x80 | 126, length >> 8, length & 0xff]
        : [0x80 | 127, 0, 0, 0, 0, ...Buffer.from(length.toString(16).padStart(8, "0"), "hex")];
  const mask = randomBytes(4);
  const masked = Buffer.from(data).map((byte, index) => byte ^ (mask[index & 3] ?? 0));
  return Buffer.concat([Buffer.from([(isLast ? 0x80 : 0) | opcode, ...size]), mask, masked]);
}

export interface ServerFrame {
  readonly opcode: number;
  readonly data: Buffer;
}

/** The frames that a server sent, as they come. */
export async function* serverFrames(socket: Duplex, head: Buffer): AsyncGenerator<ServerFrame> {
  let pending = head;
  const take = function* (): Generator<ServerFrame> {
    for (;;) {
      const short = pending[1] ?? 0;
      const start = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (pending.length < start) return;
      const length =
        short === 127
          ? Number(pending.readBigUInt64BE(2))
          : short === 126
            ? pending.readUInt16BE(2)
            : short;
      if (pending.length < start + length) return;
      const data = pending.subarray(start, start + length);
      yield { opcode: (pending[0] ?? 0) & 0x0f, data };
      pending = pending.subarray(start + length);
    }
  };
  yield* take();
  for await (const chunk of socket) {
    pending = Buffer.concat([pending, Buffer.from(chunk)]);
    yield* take();
  }
}
