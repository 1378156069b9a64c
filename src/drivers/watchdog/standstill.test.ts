import { expect, test } from "vitest";
import { Standstill } from "./standstill.ts";

const limitMs = 3_000;

/** What was found after each look. */
function looks(seen: readonly (readonly [ticks: number, turns: number])[]): readonly string[] {
  const standstill = new Standstill(limitMs, 1_000);
  return seen.map(([ticks, turns]) => standstill.look({ ticks, turns })?.kind ?? "fine");
}

test("a thread that does nothing for as long as it may is found", () => {
  expect(
    looks([
      [1, 1],
      [1, 1],
      [1, 1],
      [1, 1],
    ]),
  ).toEqual(["fine", "fine", "fine", "thread"]);
});

test("a thread that gets on once begins again", () => {
  expect(
    looks([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 2],
      [2, 2],
      [2, 2],
    ]).at(-1),
  ).toBe("fine");
});

test("a loop that does not turn is found although its thread runs", () => {
  const seen = [1, 2, 3, 4].map((ticks) => [ticks, 7] as const);
  // The first look only sees where it stands.
  expect(looks(seen)).toEqual(["fine", "fine", "fine", "loop"]);
});

test("a thread that stands still a moment after its loop's last turn is not taken for the loop", () => {
  expect(
    looks([
      [1, 7],
      [2, 7],
      [2, 7],
      [2, 7],
      [2, 7],
    ]),
  ).toEqual(["fine", "fine", "fine", "fine", "thread"]);
});

test("a loop that has not begun may take its time", () => {
  expect(looks([1, 2, 3, 4, 5, 6, 7].map((ticks) => [ticks, 0] as const)).at(-1)).toBe("fine");
});
