// Messages of a WebSocket in very many, very small pieces cost quadratic time.
import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { FrameReader } from "../../src/server/spdy/frame.ts";
import { MessageReader } from "../../src/server/websocket/frame.ts";
import { clientFrame } from "../kit/websocket-client.ts";

/** Each of these took minutes when every piece was joined with all before it. */
const generousMs = 20_000;
const maxBytes = 16 * 1024 * 1024;

function elapsedMs(work: () => void): number {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
}

test("a large frame that comes byte by byte is read in linear time", () => {
  const frame = clientFrame(2, Buffer.alloc(1024 * 1024, 7));
  const reader = new MessageReader(maxBytes);
  let received = 0;
  const tookMs = elapsedMs(() => {
    for (let index = 0; index < frame.length; index++) {
      for (const message of reader.push(frame.subarray(index, index + 1))) {
        if (message.kind === "data") received += message.data.length;
      }
    }
  });
  expect(received).toBe(1024 * 1024);
  expect(tookMs).toBeLessThan(generousMs);
});

test("a message of more than a thousand fragments is refused", () => {
  const reader = new MessageReader(maxBytes);
  const fragment = clientFrame(0, Buffer.alloc(0), false);
  const bytes = Buffer.concat([
    clientFrame(2, Buffer.from("a"), false),
    ...Array.from({ length: 1000 }, () => fragment),
  ]);
  expect(() => [...reader.push(bytes)]).toThrow("too many fragments");
});

test("a message of a thousand fragments is one message", () => {
  const reader = new MessageReader(maxBytes);
  const bytes = Buffer.concat([
    clientFrame(2, Buffer.from("a"), false),
    ...Array.from({ length: 998 }, () => clientFrame(0, Buffer.from("b"), false)),
    clientFrame(0, Buffer.from("c")),
  ]);
  const [message] = [...reader.push(bytes)];
  expect(message).toMatchObject({ kind: "data", data: Buffer.from(`a${"b".repeat(998)}c`) });
});

test("a large SPDY frame that comes byte by byte is read in linear time", () => {
  const length = 1024 * 1024;
  const frame = Buffer.concat([
    Buffer.from([0, 0, 0, 1, 0]),
    Buffer.alloc(3),
    Buffer.alloc(length),
  ]);
  frame.writeUIntBE(length, 5, 3);
  const reader = new FrameReader();
  let frames = 0;
  const tookMs = elapsedMs(() => {
    for (let index = 0; index < frame.length; index++) {
      frames += reader.push(frame.subarray(index, index + 1)).length;
    }
  });
  expect(frames).toBe(1);
  expect(tookMs).toBeLessThan(generousMs);
});
