import { expect, test } from "vitest";
import { compareNarrowness, numaNodeChoices } from "./hints.ts";

test("choices of nodes come with fewer nodes first", () => {
  expect([...numaNodeChoices([0, 2, 5])]).toEqual([
    [0],
    [2],
    [5],
    [0, 2],
    [0, 5],
    [2, 5],
    [0, 2, 5],
  ]);
});

test.each([
  { narrower: [63], wider: [0, 1] },
  { narrower: [0, 2], wider: [1, 2] },
  { narrower: [1, 2], wider: [0, 3] },
])("$narrower is narrower than $wider", ({ narrower, wider }) => {
  expect(compareNarrowness(narrower, wider)).toBeLessThan(0);
  expect(compareNarrowness(wider, narrower)).toBeGreaterThan(0);
});
