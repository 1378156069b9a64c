import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { berthVersion } from "./version.ts";

test("the version in the code is the package's", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(berthVersion).toBe(version);
});
