import { expect, test } from "vitest";
import { CommandError } from "../../lib/command-error.ts";
import { linuxCommands } from "./commands.ts";
import { HungPaths } from "./hung-paths.ts";

const never = new AbortController().signal;
const commands = linuxCommands(new HungPaths(Date.now));

test("a program's end is its exit code and what it wrote to both streams", async () => {
  const argv = ["sh", "-c", "echo out; echo wrong >&2; exit 3"];
  const { exitCode, output } = await commands.run(argv, { timeoutMs: 10_000 }, never);
  expect(exitCode).toBe(3);
  expect(output.split("\n").toSorted()).toEqual(["", "out", "wrong"]);
});

test("a program reads its input, and nothing when there is none", async () => {
  const read = async (input: string | undefined): Promise<string> =>
    (await commands.run(["cat"], { timeoutMs: 10_000, input }, never)).output;
  expect(await read("given")).toBe("given");
  expect(await read(undefined)).toBe("");
});

test("an output without end is cut", async () => {
  const argv = ["sh", "-c", "yes | head -c 1000000"];
  const { output } = await commands.run(argv, { timeoutMs: 10_000 }, never);
  expect(output.length).toBeLessThanOrEqual(64 * 1024);
});

test("a program that does not exist is named", async () => {
  const running = commands.run(["no-such-program"], { timeoutMs: 10_000 }, never);
  await expect(running).rejects.toThrow(
    new CommandError("not-found", 'exec: "no-such-program": executable file not found in $PATH'),
  );
});

test("no error shows an argument", async () => {
  const run = (): Promise<unknown> =>
    commands.run(["sleep", "60", "0.0000001"], { timeoutMs: 50 }, never);
  await expect(run()).rejects.toMatchObject({
    reason: "timed-out",
    message: "sleep did not end within 0.05 s",
  });
  // It was killed a moment ago; its end is reported later.
  await expect(run()).rejects.toMatchObject({
    reason: "timed-out",
    message: expect.stringMatching(/^sleep hangs \(since /),
  });
});

test("a program is left when the work is aborted", async () => {
  const controller = new AbortController();
  const running = commands.run(["sleep", "60"], { timeoutMs: 10_000 }, controller.signal);
  controller.abort(new Error("the pod is gone"));
  await expect(running).rejects.toThrow("the pod is gone");
});
