import { expect, test } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

test("allows a burst, then the rate", () => {
  const bucket = new TokenBucket(2, 3);
  expect([0, 0, 0, 0, 499, 500, 501].map((nowMs) => bucket.tryTake(nowMs))).toEqual([
    true,
    true,
    true,
    false,
    false,
    true,
    false,
  ]);
});

test("saves up no more than a burst", () => {
  const bucket = new TokenBucket(1, 1);
  expect([0, 60_000, 60_000].map((nowMs) => bucket.tryTake(nowMs))).toEqual([true, true, false]);
});
