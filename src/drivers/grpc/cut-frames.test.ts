import fc from "fast-check";
import { expect, test } from "vitest";
import { ExecSyncResponse } from "../../generated/cri.ts";
import { CutFrameReader } from "./cut-frames.ts";
import { encodeFrame } from "./grpc-frames.ts";

function readAll(reader: CutFrameReader, bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.filter((at) => at < bytes.length), bytes.length].toSorted((a, b) => a - b);
  const messages: Buffer[] = [];
  let begin = 0;
  for (const end of ends) {
    const taken = reader.take(bytes.subarray(begin, end));
    if (!taken.ok) throw new Error(taken.error);
    messages.push(...taken.value);
    begin = end;
  }
  return messages;
}

function encoded(stdout: string, stderr: string, exitCode: number): Buffer {
  const response = { stdout: Buffer.from(stdout), stderr: Buffer.from(stderr), exitCode };
  return encodeFrame(ExecSyncResponse.encode(ExecSyncResponse.fromPartial(response)).finish());
}

test("answers come out with the beginning of each field, whatever pieces they arrive in", () => {
  const text = fc.string({ maxLength: 300, unit: "grapheme-ascii" });
  const answers = fc.array(fc.tuple(text, text, fc.integer({ min: 0, max: 255 })), {
    maxLength: 4,
  });
  const cuts = fc.array(fc.nat({ max: 2500 }), { maxLength: 20 });
  fc.assert(
    fc.property(answers, cuts, (sent, places) => {
      const bytes = Buffer.concat(sent.map(([out, error, code]) => encoded(out, error, code)));
      const read = readAll(new CutFrameReader(100), bytes, places).map((message) =>
        ExecSyncResponse.decode(message),
      );
      expect(
        read.map(({ stdout, stderr, exitCode }) => [
          Buffer.from(stdout).toString(),
          Buffer.from(stderr).toString(),
          exitCode,
        ]),
      ).toEqual(sent.map(([out, error, code]) => [out.slice(0, 100), error.slice(0, 100), code]));
    }),
  );
});

test("no more than 64 KiB of a message is kept, however many fields it has", () => {
  const field = Buffer.concat([Buffer.from([10, 0x80, 0x50]), Buffer.alloc(10 * 1024)]);
  const bytes = encodeFrame(Buffer.concat(Array.from({ length: 100 }, () => field)));
  const [message] = readAll(new CutFrameReader(10 * 1024), bytes, []);
  expect(message?.length).toBeLessThan(66 * 1024);
});

test("messages that are compressed, too large or broken are refused", () => {
  const refused = (bytes: readonly number[]) =>
    !new CutFrameReader(100).take(Buffer.from(bytes)).ok;
  expect(refused([1, 0, 0, 0, 0])).toBe(true);
  expect(refused([0, 1, 0, 0, 1])).toBe(true);
  expect(refused([0, 0, 0, 0, 3, 10, 200, 1])).toBe(true);
  expect(refused([0, 0, 0, 0, 20, ...Array.from({ length: 20 }, () => 255)])).toBe(true);
  expect(refused([0, 0, 0, 0, 2, 15, 0])).toBe(true);
});
