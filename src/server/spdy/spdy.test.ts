import { Duplex } from "node:stream";
import { createInflate } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SpdyConnection } from "./connection.ts";
import { encodeFrame, type Frame, FrameReader } from "./frame.ts";
import { encodeHeaders, HeaderCompressor } from "./header-block.ts";
import { headerDictionary } from "./header-dictionary.ts";

const streamIds = fc.integer({ min: 1, max: 0x7fffffff });
const bytes = fc.uint8Array({ maxLength: 300 }).map((data) => Buffer.from(data));
const frames: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    kind: fc.constant("data" as const),
    streamId: streamIds,
    isLast: fc.boolean(),
    data: bytes,
  }),
  fc.record({ kind: fc.constant("open" as const), streamId: streamIds, headerBlock: bytes }),
  fc.record({ kind: fc.constant("reply" as const), streamId: streamIds, isLast: fc.boolean() }),
  fc.record({
    kind: fc.constant("reset" as const),
    streamId: streamIds,
    status: fc.integer({ min: 0, max: 11 }),
  }),
  fc.record({ kind: fc.constant("ping" as const), id: fc.integer({ min: 0, max: 0xffffffff }) }),
  fc.constant({ kind: "go-away" as const }),
);

test("frames come back as they were written, however the bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(frames, { maxLength: 8 }),
      fc.integer({ min: 1, max: 50 }),
      (sent, cut) => {
        const wire = Buffer.concat(sent.map(encodeFrame));
        const reader = new FrameReader();
        const received: Frame[] = [];
        for (let start = 0; start < wire.length; start += cut) {
          received.push(...reader.push(wire.subarray(start, start + cut)));
        }
        expect(received).toEqual(sent);
      },
    ),
  );
});

test("another protocol is refused", () => {
  expect(() => new FrameReader().push(Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0]))).toThrow("SPDY/3");
});

test("a frame that claims to be huge is refused before it is waited for", () => {
  expect(() => new FrameReader().push(Buffer.from([0, 0, 0, 1, 0, 0xff, 0xff, 0xff]))).toThrow(
    "too long",
  );
});

test("header blocks build on each other and start from the protocol's dictionary", async () => {
  using compressor = new HeaderCompressor();
  const first = await compressor.compress({ streamType: "stdin" });
  const second = await compressor.compress({ streamType: "stdout" });
  // zlib writes the checksum of the dictionary after its two bytes of header.
  expect(first.subarray(2, 6).toString("hex")).toBe("e3c6a7c2");
  const inflate = createInflate({ dictionary: headerDictionary });
  const chunks: Buffer[] = [];
  inflate.on("data", (chunk: Buffer) => chunks.push(chunk));
  inflate.write(first);
  await new Promise<void>((resolve) => void inflate.write(second, () => resolve()));
  expect(Buffer.concat(chunks)).toEqual(
    Buffer.concat([
      encodeHeaders({ streamtype: "stdin" }),
      encodeHeaders({ streamtype: "stdout" }),
    ]),
  );
});

/** A connection to a server that a test plays by hand. */
function wire() {
  const sent = new FrameReader();
  const frames: Frame[] = [];
  let notify: (() => void) | undefined;
  const connection = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      frames.push(...sent.push(chunk));
      notify?.();
      done();
    },
  });
  const until = async (count: number): Promise<Frame[]> => {
    while (frames.length < count) {
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
    return frames;
  };
  return { connection, until, answer: (frame: Frame) => connection.push(encodeFrame(frame)) };
}

test("streams get odd numbers, carry data both ways and end with the other side", async () => {
  const { connection, until, answer } = wire();
  using client = new SpdyConnection(connection, Buffer.alloc(0));
  const received: string[] = [];
  const stream = await client.open({ streamType: "stdout" }, (data) => {
    received.push(String(data));
  });
  const other = await client.open({ streamType: "stdin" }, () => undefined);
  expect([stream.id, other.id]).toEqual([1, 3]);
  await other.write(Buffer.alloc(40_000));
  await other.finish();
  const frames = await until(5);
  expect(frames.map((frame) => (frame.kind === "data" ? frame.data.length : frame.kind))).toEqual([
    "open",
    "open",
    32_768,
    7232,
    0,
  ]);
  expect(frames.at(-1)).toMatchObject({ streamId: 3, isLast: true });
  answer({ kind: "reply", streamId: 1, isLast: false });
  answer({ kind: "data", streamId: 1, isLast: false, data: Buffer.from("a") });
  answer({ kind: "data", streamId: 1, isLast: true, data: Buffer.from("b") });
  answer({ kind: "reset", streamId: 3, status: 5 });
  await stream.ended;
  await other.ended;
  expect(received).toEqual(["a", "b"]);
});

test("a ping of the server is answered, and the end of the connection ends every stream", async () => {
  const { connection, until, answer } = wire();
  using client = new SpdyConnection(connection, Buffer.alloc(0));
  const stream = await client.open({}, () => undefined);
  answer({ kind: "ping", id: 2 });
  expect((await until(2)).at(-1)).toEqual({ kind: "ping", id: 2 });
  connection.push(null);
  await stream.ended;
  await expect.poll(() => connection.destroyed).toBe(true);
});
