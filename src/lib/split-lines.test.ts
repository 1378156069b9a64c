import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { splitLines } from "./split-lines.ts";

async function linesOf(chunks: readonly string[], maxBytes?: number): Promise<readonly string[]> {
  const source = Readable.from(chunks.map((text) => Buffer.from(text)));
  const lines: string[] = [];
  for await (const line of splitLines(source, maxBytes)) lines.push(Buffer.concat(line).toString());
  return lines;
}

test.each([
  { chunks: ["a\nb\n"], lines: ["a", "b"] },
  { chunks: ["a", "b\n\nc"], lines: ["ab", "", "c"] },
  { chunks: ["", "\n"], lines: [""] },
  { chunks: [], lines: [] },
  { chunks: ["abcd\n"], lines: ["abcd"] },
  { chunks: ["abcd", "\nx"], lines: ["abcd", "x"] },
  { chunks: ["abcde\n"], lines: ["abcd", "e"] },
  { chunks: ["abc", "defghi"], lines: ["abcd", "efgh", "i"] },
])("$chunks are the lines $lines of at most 4 bytes", async ({ chunks, lines }) => {
  expect(await linesOf(chunks, 4)).toEqual(lines);
});

test("it does not matter in which chunks a stream comes", async () => {
  const texts = fc.array(fc.stringMatching(/^[ab\n]{0,9}$/));
  await fc.assert(
    fc.asyncProperty(texts, async (chunks) => {
      expect(await linesOf(chunks, 5)).toEqual(await linesOf([chunks.join("")], 5));
    }),
  );
});
