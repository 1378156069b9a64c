import { expect, test } from "vitest";
import { outputExitCode } from "./exit.ts";

const brokenPipe = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
const fullDisk = Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" });

test.each([
  { what: "a reader that has seen enough", args: ["get", "pods"], error: brokenPipe, code: 0 },
  { what: "pods that were not run to their end", args: ["run"], error: brokenPipe, code: 141 },
  { what: "a full disk", args: ["get", "pods"], error: fullDisk, code: 1 },
  { what: "a full disk of a run", args: ["run"], error: fullDisk, code: 1 },
])("$what: a stdout that cannot be written gives $code", ({ args, error, code }) => {
  expect(outputExitCode(error, args)).toBe(code);
});
