import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LineBuffer } from "./line-buffer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function buffered(bufferBytes: number) {
  const lines: string[] = [];
  const output = { write: (line: string) => lines.push(line), flush: () => lines.push("flushed") };
  return { lines, buffer: new LineBuffer(output, { bufferBytes, flushMs: 5_000 }) };
}

test("lines wait until the buffer is full, or their time is over, and none waits at the end", () => {
  const { lines, buffer } = buffered(4);
  buffer.write("a\n");
  expect(lines).toEqual([]);
  buffer.write("b\n");
  expect(lines).toEqual(["a\n", "b\n"]);
  buffer.write("c\n");
  vi.advanceTimersByTime(5_000);
  expect(lines).toEqual(["a\n", "b\n", "c\n"]);
  buffer.write("d\n");
  buffer.flush();
  expect(lines.slice(3)).toEqual(["d\n", "flushed"]);
});

test("without a buffer no line waits", () => {
  const { lines, buffer } = buffered(0);
  buffer.write("a\n");
  expect(lines).toEqual(["a\n"]);
});
