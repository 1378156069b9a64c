import { beforeEach, expect, test } from "vitest";
import { HungPaths } from "./hung-paths.ts";
import { CommandTimeoutError, runVolumeCommand } from "./volume-command.ts";

let hungPaths: HungPaths;
const never = new AbortController().signal;

beforeEach(() => {
  hungPaths = new HungPaths(Date.now);
});

test("a program's output is the answer, and its own words the error", async () => {
  const run = (args: readonly string[]) =>
    runVolumeCommand({ program: "sh", args, timeoutMs: 10_000 }, hungPaths, never);
  expect(await run(["-c", "echo out"])).toBe("out\n");
  await expect(run(["-c", "echo wrong >&2; exit 3"])).rejects.toThrow(/failed: wrong$/);
  await expect(run(["-c", "exit 3"])).rejects.toThrow(/failed: exit 3$/);
});

test("a program that cannot be run is named", async () => {
  const command = { program: "no-such-program", args: [], timeoutMs: 10_000 };
  await expect(runVolumeCommand(command, hungPaths, never)).rejects.toThrow(
    "cannot run no-such-program",
  );
});

test("a program that hangs is left after its time", async () => {
  const command = { program: "sleep", args: ["60"], timeoutMs: 50 };
  const running = runVolumeCommand(command, hungPaths, never);
  await expect(running).rejects.toThrow(CommandTimeoutError);
  await expect(running).rejects.toThrow("sleep 60 did not end within 0.05 s");
});

test("a program is left when the pod's work is aborted", async () => {
  const controller = new AbortController();
  const command = { program: "sleep", args: ["60"], timeoutMs: 10_000 };
  const running = runVolumeCommand(command, hungPaths, controller.signal);
  controller.abort(new Error("the pod is gone"));
  await expect(running).rejects.toThrow("the pod is gone");
});

test("a program that was left is not started again while it is there", async () => {
  const command = { program: "sleep", args: ["60"], timeoutMs: 50 };
  await expect(runVolumeCommand(command, hungPaths, never)).rejects.toThrow(CommandTimeoutError);
  // It was killed a moment ago; its end is reported later.
  await expect(runVolumeCommand(command, hungPaths, never)).rejects.toThrow(/^sleep 60 hangs/);
});
