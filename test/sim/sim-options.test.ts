import { expect, test } from "vitest";
import { parseSimOptions } from "./sim-options.ts";

test.each([
  { args: [], wanted: { kind: "many", seeds: 100, from: 1, workers: 2, storage: false } },
  {
    args: ["--seeds", "7", "--from", "3"],
    wanted: { kind: "many", seeds: 7, from: 3, workers: 2, storage: false },
  },
  { args: ["--storage"], wanted: { kind: "many", seeds: 100, from: 1, workers: 2, storage: true } },
  { args: ["--seed", "7"], wanted: { kind: "one", seed: 7, steps: undefined, trace: false } },
  {
    args: ["--seed", "7", "--steps", "2", "--trace"],
    wanted: { kind: "one", seed: 7, steps: 2, trace: true },
  },
  { args: ["--help"], wanted: { kind: "help" } },
])("$args", ({ args, wanted }) => {
  expect(parseSimOptions(args, 2)).toEqual({ ok: true, value: wanted });
});

test.each([
  { args: ["--seeds", "abc"], problem: "--seeds abc: give a whole number" },
  { args: ["--seeds", "0"], problem: "--seeds 0: give a whole number" },
  { args: ["--seed", "1.5"], problem: "--seed 1.5: give a whole number" },
  { args: ["--workers", "0"], problem: "--workers 0: give a whole number" },
  { args: ["--seed", "7", "--seeds", "3"], problem: "--seeds does not go with --seed" },
  { args: ["--trace"], problem: "--trace does not go without --seed" },
  { args: ["--seed", "7", "--storage"], problem: "--storage does not go with --seed" },
  { args: ["--bogus"], problem: "--bogus" },
  { args: ["extra"], problem: "extra" },
])("$args is refused", ({ args, problem }) => {
  expect(parseSimOptions(args, 2)).toEqual({ ok: false, error: expect.stringContaining(problem) });
});
