import { expect, test } from "vitest";
import { redraw } from "./redraw.ts";

const size = { width: 20, height: 10 };

test("the first block is written where the cursor stands", () => {
  expect(redraw(["NAME", "web"], 0, size)).toEqual({
    text: "\x1b[KNAME\n\x1b[Kweb\n\x1b[J",
    lines: 2,
  });
});

test("the next one is drawn over it, and what it does not need is cleared", () => {
  expect(redraw(["NAME"], 3, size)).toEqual({ text: "\x1b[3A\r\x1b[KNAME\n\x1b[J", lines: 1 });
});

test("a line that is too long is cut off, and its colours take no room", () => {
  const { text } = redraw(["ab\x1b[32mcdef\x1b[0mgh"], 0, { width: 4, height: 10 });
  expect(text).toBe("\x1b[Kab\x1b[32mcd\x1b[0m\n\x1b[J");
});

test("a block that is higher than the screen says how much is left out", () => {
  const lines = ["NAME", "a", "b", "c", "d"];
  expect(redraw(lines, 0, { width: 20, height: 4 })).toEqual({
    text: "\x1b[KNAME\n\x1b[Ka\n\x1b[K... and 3 more\n\x1b[J",
    lines: 3,
  });
});
