import { describe, expect, test } from "vitest";
import { steepGrowth, superLinear } from "./support/linear-time.ts";
import { textEntries } from "./support/text-entries.ts";

describe.each(Object.entries(textEntries))("text of %s", (_, entries) => {
  test.each(entries)("$name takes linear time", (entry) => {
    expect(superLinear(entry)).toBeUndefined();
  });
});

describe("the measurement", () => {
  test.each([
    { name: "a trim", run: (text: string) => text.replace(/ +$/, "") },
    { name: "repetitions inside each other", run: (text: string) => /^(?:a+)+$/.test(text) },
    {
      name: "copies of a growing list",
      run: (text: string) =>
        Array.from(text).reduce<readonly string[]>((all, one) => [...all, one], []),
    },
  ])("finds that $name takes more", (entry) => {
    expect(superLinear(entry)).toContain(entry.name);
  });

  test("lets linear time pass, and n log n", () => {
    expect(steepGrowth((length) => length / 100)).toBeUndefined();
    expect(steepGrowth((length) => (length * Math.log2(length)) / 1000)).toBeUndefined();
    expect(steepGrowth((length) => length ** 2 / 10_000_000)).toContain("ms");
  });
});
