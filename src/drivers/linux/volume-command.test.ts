import { expect, test } from "vitest";
import { CommandTimeoutError, runVolumeCommand } from "./volume-command.ts";

const never = new AbortController().signal;

test("a program's output is the answer, and its own words the error", async () => {
  const run = (args: readonly string[]) =>
    runVolumeCommand({ program: "sh", args, timeoutMs: 10_000 }, never);
  expect(await run(["-c", "echo out"])).toBe("out\n");
  await expect(run(["-c", "echo wrong >&2; exit 3"])).rejects.toThrow(/failed: wrong$/);
  await expect(run(["-c", "exit 3"])).rejects.toThrow(/failed: exit 3$/);
});

test("a program that cannot be run is named", async () => {
  const command = { program: "no-such-program", args: [], timeoutMs: 10_000 };
  await expect(runVolumeCommand(command, never)).rejects.toThrow("cannot run no-such-program");
});

test("a program that hangs is left after its time", async () => {
  const command = { program: "sleep", args: ["60"], timeoutMs: 50 };
  await expect(runVolumeCommand(command, never)).rejects.toThrow(CommandTimeoutError);
  await expect(runVolumeCommand(command, never)).rejects.toThrow(
    "sleep 60 did not end within 0.05 s",
  );
});

test("a program is left when the pod's work is aborted", async () => {
  const controller = new AbortController();
  const command = { program: "sleep", args: ["60"], timeoutMs: 10_000 };
  const running = runVolumeCommand(command, controller.signal);
  controller.abort(new Error("the pod is gone"));
  await expect(running).rejects.toThrow("the pod is gone");
});
