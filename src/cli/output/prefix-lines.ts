import { splitLines } from "../../lib/split-lines.ts";

const newline = Buffer.from("\n");

/** Whole lines, each with the prefix; a last line without a newline gets one, and so does each part of a line that is broken. */
export async function* prefixLines(
  source: AsyncIterable<Uint8Array>,
  prefix: string,
): AsyncGenerator<Uint8Array> {
  const start = Buffer.from(prefix);
  for await (const line of splitLines(source)) yield Buffer.concat([start, ...line, newline]);
}
