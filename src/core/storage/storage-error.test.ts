import { expect, test } from "vitest";
import { err } from "../../lib/result.ts";
import { isOperationFinished, type StorageErrorKind, unlessAsked } from "./storage-error.ts";

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

test.each([
  { mayBeThere: false, isAnswer: false, kind: "final" },
  { mayBeThere: true, isAnswer: true, kind: "final" },
  { mayBeThere: true, isAnswer: false, kind: "transient" },
])(
  "what an earlier attempt did stays open only when the storage was not asked again: %o",
  (given) => {
    const { mayBeThere, isAnswer, kind } = given;
    const failed = err({ kind: "final", message: "no driver", isAnswer } as const);
    expect(unlessAsked(failed, { mayBeThere })).toMatchObject({
      error: { kind, message: "no driver" },
    });
  },
);
