import { Duplex, PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { clientFrame, serverFrames } from "../../../test/kit/websocket-client.ts";
import { isHandshake, WebSocketConnection } from "./connection.ts";
import { encodeMessage, MessageReader } from "./frame.ts";

test("messages come out whole, however their bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 400 }),
      (payloads, step) => {
        const bytes = Buffer.concat(payloads.map((payload) => clientFrame(2, payload)));
        const reader = new MessageReader(1000);
        const got: Buffer[] = [];
        for (let start = 0; start < bytes.length; start += step) {
          for (const message of reader.push(bytes.subarray(start, start + step))) {
            if (message.kind === "data") got.push(message.data);
          }
        }
        expect(got.map((data) => [...data])).toEqual(payloads.map((payload) => [...payload]));
      },
    ),
  );
});

test.each([0, 1, 125, 126, 65_535, 65_536, 200_000])("%i bytes reach a client", async (length) => {
  const wire = new PassThrough();
  wire.end(encodeMessage("binary", Buffer.alloc(length, 7)));
  const { value } = await serverFrames(wire, Buffer.alloc(0)).next();
  expect(value.opcode).toBe(2);
  expect(value.data.equals(Buffer.alloc(length, 7))).toBe(true);
});

test("a message in parts is one, and pings may stand between them", () => {
  const reader = new MessageReader(100);
  const bytes = Buffer.concat([
    clientFrame(2, Buffer.from("a"), false),
    clientFrame(9, Buffer.from("p")),
    clientFrame(0, Buffer.from("b")),
  ]);
  expect([...reader.push(bytes)]).toEqual([
    { kind: "ping", data: Buffer.from("p") },
    { kind: "data", data: Buffer.from("ab"), isText: false },
  ]);
});

test("messages of text differ from those of bytes, also in parts", () => {
  const reader = new MessageReader(100);
  const bytes = Buffer.concat([
    clientFrame(1, Buffer.from("a"), false),
    clientFrame(0, Buffer.from("b")),
    clientFrame(2, Buffer.from("c")),
  ]);
  expect([...reader.push(bytes)]).toEqual([
    { kind: "data", data: Buffer.from("ab"), isText: true },
    { kind: "data", data: Buffer.from("c"), isText: false },
  ]);
});

test.each([
  ["without a mask", Buffer.from([0x82, 0x01, 0x61]), "not masked"],
  ["beyond the limit", clientFrame(2, Buffer.alloc(200)), "too long"],
  ["of an extension", Buffer.from([0xc2, 0x80, 0, 0, 0, 0]), "extension"],
  ["of no kind", clientFrame(3, Buffer.alloc(0)), "no known kind"],
  ["that continues nothing", clientFrame(0, Buffer.from("x")), "did not begin"],
  ["that controls too much", clientFrame(9, Buffer.alloc(126)), "control frame"],
])("a frame %s is refused", (_, bytes, reason) => {
  expect(() => [...new MessageReader(150).push(bytes)]).toThrow(reason);
});

test("a connection answers pings and close frames, and ends at what is not a frame", async () => {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      written.push(chunk);
      done();
    },
  });
  const headers = {
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
  };
  expect(isHandshake(headers)).toBe(true);
  const connection = WebSocketConnection.accept(headers, "v5.channel.k8s.io", {
    socket,
    head: Buffer.alloc(0),
  });
  expect(String(written[0])).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  const got: string[] = [];
  const reading = connection.read((data) => void got.push(data.toString()));
  socket.push(Buffer.concat([clientFrame(9, Buffer.from("p")), clientFrame(2, Buffer.from("x"))]));
  socket.push(Buffer.from([0x82, 0x00]));
  await reading;
  expect(got).toEqual(["x"]);
  expect(written.slice(1).map((bytes) => bytes[0])).toEqual([0x8a, 0x88]);
  socket.destroy();
});
