import { expect, test } from "vitest";
import { parseRuntimeVersion } from "./runtime-version.ts";

test.each([
  ["1.6.20~ds1", "1.6.20"],
  ["v1.7.13", "1.7.13"],
  ["2.0.0-rc.1", "2.0.0-rc.1"],
  ["1.7.2+build.5", "1.7.2+build.5"],
  ["1.2", "1.2"],
  ["1.6.4.1-dev", "1.6.4.1"],
  ["7", undefined],
  ["unknown", undefined],
])("the runtime's version %s is reported as %s", (text, version) => {
  expect(parseRuntimeVersion(text)).toBe(version);
});
