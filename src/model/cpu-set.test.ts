import { expect, test } from "vitest";
import { cpuSet, cpuSetText, parseCpuSet } from "./cpu-set.ts";

test("a range that is larger than any machine is refused instead of counted out", () => {
  expect(parseCpuSet("0-9223372036854775806")).toEqual({
    ok: false,
    error: 'invalid range "0-9223372036854775806" (more than 1048576 CPUs)',
  });
});

test("a set is written in the list format whatever the order it was given in", () => {
  expect(cpuSetText(cpuSet([9, 3, 1, 2, 3]))).toBe("1-3,9");
});
