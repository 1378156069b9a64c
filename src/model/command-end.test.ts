import { expect, test } from "vitest";
import { parseCommandEnd } from "./command-end.ts";

const exitCode = { reason: "ExitCode", message: "3" };

test.each([
  ["success", { status: "Success" }, { kind: "exited", exitCode: 0 }],
  [
    "an exit code",
    { status: "Failure", reason: "NonZeroExitCode", details: { causes: [exitCode] } },
    { kind: "exited", exitCode: 3 },
  ],
  [
    "a command that could not run",
    { status: "Failure", reason: "InternalError", message: "no such file" },
    { kind: "failed", message: "no such file" },
  ],
])("a Status of %s is understood", (_, status, end) => {
  expect(parseCommandEnd(JSON.stringify(status))).toEqual(end);
});

test("what is not a Status is the message, and nothing at all is a connection that ended", () => {
  expect(parseCommandEnd("oops")).toEqual({ kind: "failed", message: "oops" });
  expect(parseCommandEnd("")).toMatchObject({
    kind: "failed",
    message: expect.stringContaining("ended before"),
  });
});
