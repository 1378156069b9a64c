import { expect, test } from "vitest";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { ContainerState, type ContainerStatus } from "../../model/generated/cri.ts";
import {
  containerTerminationMessagePathAnnotation,
  containerTerminationMessagePolicyAnnotation,
} from "../../model/labels.ts";
import { type ReadEnd, readTerminationMessage } from "./termination-message.ts";

const messageFile = "/pods/web/0a1b";
const logFile = "/var/log/web.log";
const failed: ContainerStatus = {
  state: ContainerState.CONTAINER_EXITED,
  exitCode: 1,
  logPath: logFile,
  mounts: [{ containerPath: "/dev/termination-log", hostPath: messageFile }],
  annotations: {
    [containerTerminationMessagePathAnnotation]: "/dev/termination-log",
    [containerTerminationMessagePolicyAnnotation]: "FallbackToLogsOnError",
  },
};

function readEndOf(files: MemoryFiles): ReadEnd {
  return (path, maxBytes) => files.readTail(path, maxBytes);
}

function logLine(text: string, tag = "F"): string {
  return `2026-01-01T00:00:00.000000000Z stdout ${tag} ${text}\n`;
}

test("the message file goes before the log", async () => {
  const files = new MemoryFiles();
  await files.writeFile(messageFile, "no disk left");
  await files.writeFile(logFile, logLine("something else"));
  expect(await readTerminationMessage(readEndOf(files), failed)).toBe("no disk left");
});

test("of a long message the end is kept", async () => {
  const files = new MemoryFiles();
  await files.writeFile(messageFile, `${"a".repeat(5000)}b`);
  expect(await readTerminationMessage(readEndOf(files), failed)).toBe(`${"a".repeat(4095)}b`);
});

test("with an empty message file, the last 80 lines of the log are the message", async () => {
  const files = new MemoryFiles();
  await files.writeFile(messageFile, "");
  const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`);
  await files.writeFile(logFile, lines.map((line) => logLine(line)).join(""));
  const expected = lines.slice(20).map((line) => `${line}\n`);
  expect(await readTerminationMessage(readEndOf(files), failed)).toBe(expected.join(""));
});

test("parts of a long line are put together, and cut to what a message may hold", async () => {
  const files = new MemoryFiles();
  const part = "x".repeat(16_384);
  await files.writeFile(logFile, `${logLine(part, "P").repeat(6)}${logLine("é")}`);
  const message = await readTerminationMessage(readEndOf(files), failed);
  expect(message).toBe(`${"x".repeat(2045)}é\n`);
});

test("a missing log is said to be missing", async () => {
  expect(await readTerminationMessage(readEndOf(new MemoryFiles()), failed)).toBe(
    "Error on reading termination message from logs: /var/log/web.log does not exist",
  );
});
