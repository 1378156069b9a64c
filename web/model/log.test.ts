import fc from "fast-check";
import { expect, test } from "vitest";
import { emptyLog, findText, maxLines, withLines } from "./log-buffer.ts";
import { LineCutter, maxLineLength, shownLine } from "./log-text.ts";

test.each([
  ["colours", "\u001b[31mred\u001b[0m", "red"],
  ["a title", "\u001b]0;owned\u0007text", "text"],
  ["a link", "\u001b]8;;http://evil.test\u001b\\click\u001b]8;;\u001b\\", "click"],
  ["a sequence without an end", "text\u001b[12;", "text"],
  ["other controls", "a\u0000b\u0008c", "a\u2400b\u2408c"],
  ["text that turns around", "safe\u202eexe.txt", "safe<U+202E>exe.txt"],
  ["HTML, which is text", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ["the end of a line of Windows", "text\r", "text"],
])("of a line with %s the text is shown", (_, line, shown) => {
  expect(shownLine(line)).toBe(shown);
});

test("no control character is ever left, whatever a container prints", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (line) => {
      // oxlint-disable-next-line no-control-regex -- it is what is looked for
      expect(shownLine(line)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    }),
  );
});

test("of a line of megabytes only the beginning is held, and how much more there was", () => {
  const cutter = new LineCutter();
  for (let count = 0; count < 100; count++) expect(cutter.push("x".repeat(100_000))).toEqual([]);
  const [line = ""] = cutter.push("\nnext\n");
  expect(line.length).toBeLessThan(maxLineLength + 50);
  expect(line).toContain(`(${10_000_000 - maxLineLength} more characters)`);
});

test("lines come out whole, however the stream is cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z ]{0,20}$/)),
      fc.integer({ min: 1, max: 9 }),
      (lines, step) => {
        const text = lines.map((line) => `${line}\n`).join("");
        const cutter = new LineCutter();
        const got: string[] = [];
        for (let at = 0; at < text.length; at += step)
          got.push(...cutter.push(text.slice(at, at + step)));
        expect(got).toEqual(lines);
      },
    ),
  );
});

test("a log keeps its last lines, says how many it let go, and leaves full blocks as they are", () => {
  const line = (text: string) => ({ text, isNote: false });
  let log = withLines(
    emptyLog,
    Array.from({ length: 300 }, (_, index) => line(String(index))),
  );
  const [full] = log.blocks;
  log = withLines(log, [line("more")]);
  expect(log.blocks[0]).toBe(full);
  expect(log.blocks.at(-1)?.lines.at(-1)?.text).toBe("more");
  for (let count = 0; count < 20; count++) {
    log = withLines(
      log,
      Array.from({ length: 1_000 }, () => line("flood")),
    );
  }
  expect(log.count).toBeLessThanOrEqual(maxLines);
  expect(log.count + log.dropped).toBe(20_301);
});

test("a search finds every place without regard to case", () => {
  expect(findText("Error: an ERROR", "error")).toEqual([
    [0, 5],
    [10, 15],
  ]);
  expect(findText("anything", "")).toEqual([]);
});
