import { expect, test } from "vitest";
import { runSeed } from "./simulator/run-seed.ts";

test.each([3, 4, 17])("seed %i happens the same way twice, whatever ran between", async (seed) => {
  const first = await runSeed(seed);
  await runSeed(seed + 1);
  const second = await runSeed(seed);
  expect(second.trace.join("\n")).toBe(first.trace.join("\n"));
});
