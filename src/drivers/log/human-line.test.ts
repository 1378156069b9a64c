import { expect, test } from "vitest";
import { humanLine } from "./human-line.ts";

const record = { level: "warn", time: "2026-01-02T03:04:05.678Z", msg: "cannot pull an image" };
const line = (fields: object, colours = false) =>
  humanLine(JSON.stringify({ ...record, ...fields }), colours);

test("time, level and message come first, then the pod with its container, then the rest", () => {
  const fields = { image: "busybox", container: "main", attempt: 2, pod: "default/web" };
  expect(line(fields)).toBe(
    "03:04:05 WARN  cannot pull an image default/web/main image=busybox attempt=2\n",
  );
});

test("an error is its message, and what has spaces is quoted", () => {
  expect(line({ error: { type: "Error", message: "no such host", stack: "at x" } })).toBe(
    '03:04:05 WARN  cannot pull an image error="no such host"\n',
  );
  expect(line({ path: "a b", list: ["a"], nothing: null })).toContain(
    ' path="a b" list=["a"] nothing=null\n',
  );
});

test.each([
  ["a new line", "\n"],
  ["an escape sequence", "\x1b[2J"],
  ["one in a single character, which JSON leaves as it is", "\x9b2J"],
  ["a turn of the direction of reading", "\u202e"],
  ["a line separator", "\u2028"],
  ["a lone surrogate", "\ud800"],
])("%s in text from outside cannot leave its place", (_, text) => {
  const forged = { pod: `web${text}`, error: { message: `bad${text}` }, [`key${text}`]: text };
  const shown = line({ ...forged, msg: `hello${text}` });
  expect(shown.endsWith("\n")).toBe(true);
  expect(shown.slice(0, -1)).toMatch(/^[\x20-\x7e]+$/);
});

test("colours are there only where they are wanted", () => {
  expect(line({ pod: "default/web" }, true)).toBe(
    "\x1b[2m03:04:05\x1b[0m \x1b[33mWARN \x1b[0m cannot pull an image \x1b[1mdefault/web\x1b[0m\n",
  );
  expect(line({ pod: "default/web" })).not.toContain("\x1b");
});
