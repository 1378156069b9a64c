import { expect, test } from "vitest";
import { csiVersionText, highestCsiVersion, isLower } from "./csi-version.ts";

test.each([
  [["1.0.0"], "1.0.0"],
  [["1.2.0", "1.10.0", "1.9.9"], "1.10.0"],
  [["0.3.0", "v1.0.0-rc1", "2.0.0"], "1.0.0"],
  [["1.0", "1.0.0"], "1.0.0"],
])("the highest of %j is %s", (versions, highest) => {
  const found = highestCsiVersion(versions);
  expect(found.ok && csiVersionText(found.value)).toBe(highest);
});

test.each([
  [["0.3.0"], "highest supported version reported is 0.3.0, must be v1.x"],
  [["1"], 'reported: illegal version string "1"'],
  [["x", "1"], 'reported: could not parse "x" as version'],
  [["1.0\n"], 'reported: could not parse "1.0\\n" as version'],
  [["99999999999999999999.0"], "value out of range"],
])("%j is refused: %s", (versions, error) => {
  const found = highestCsiVersion(versions);
  expect(found.ok ? "" : found.error).toContain(error);
});

test("a version with more zeros is not higher", () => {
  expect(isLower({ components: [1n, 0n] }, { components: [1n, 0n, 0n] })).toBe(false);
  expect(isLower({ components: [1n, 0n] }, { components: [1n, 0n, 1n] })).toBe(true);
});
