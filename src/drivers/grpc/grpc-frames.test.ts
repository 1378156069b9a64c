import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, FrameReader } from "./grpc-frames.ts";

test("messages come out whole and in order, whatever pieces they arrive in", () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
  const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 });
  fc.assert(
    fc.property(messages, cuts, (sent, places) => {
      const bytes = Buffer.concat(sent.map(encodeFrame));
      const reader = new FrameReader();
      const received: Buffer[] = [];
      const ends = [...places.filter((at) => at < bytes.length), bytes.length].toSorted(
        (a, b) => a - b,
      );
      let begin = 0;
      for (const end of ends) {
        const taken = reader.take(bytes.subarray(begin, end));
        if (taken.ok) received.push(...taken.value);
        begin = end;
      }
      expect(received.map((message) => [...message])).toEqual(sent.map((message) => [...message]));
    }),
  );
});

test("a message that is compressed, or larger than any answer, is refused", () => {
  expect(new FrameReader().take(Buffer.from([1, 0, 0, 0, 0]))).toMatchObject({ ok: false });
  expect(new FrameReader().take(Buffer.from([0, 1, 0, 0, 1]))).toMatchObject({ ok: false });
});
