import { expect, test } from "vitest";
import { isOperationFinished, type StorageErrorKind } from "./storage-error.ts";

const kinds: readonly (readonly [StorageErrorKind, boolean])[] = [
  ["transient", false],
  ["uncertain", false],
  ["failedPrecondition", true],
  ["infeasible", true],
  ["notSupported", true],
  ["metricsNotSupported", true],
  ["final", true],
];

test.each(kinds)("after an error that is %s the operation is over: %s", (kind, finished) => {
  expect(isOperationFinished({ kind, message: "" })).toBe(finished);
});
