import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteQueue } from "./byte-queue.ts";

test("bytes come out as they went in, however they are cut", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 70 }), (chunks, step) => {
      const queue = new ByteQueue();
      const taken: Buffer[] = [];
      for (const chunk of chunks) {
        queue.push(Buffer.from(chunk));
        while (queue.length >= step) {
          expect(queue.peek(step)).toHaveLength(step);
          taken.push(queue.take(step));
        }
      }
      taken.push(queue.take(queue.length));
      // Compared at the end: what was taken is not written to later.
      expect(Buffer.concat(taken)).toEqual(
        Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))),
      );
    }),
  );
});
