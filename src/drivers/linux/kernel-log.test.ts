import { accessSync, constants, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DeviceKernelLog, parseRecord } from "./kernel-log.ts";

function isWritable(): boolean {
  try {
    accessSync("/dev/kmsg", constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

test("a record has a time and a message, and may have more lines that are not for people", () => {
  expect(parseRecord("6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n")).toEqual({
    atUs: 5_140_900,
    message: "NET: Registered",
  });
  expect(parseRecord("")).toBeUndefined();
});

test.runIf(isWritable())("the kernel's messages arrive, only those from now on", async () => {
  const end = new AbortController();
  const received: string[] = [];
  const running = new DeviceKernelLog().run((message) => received.push(message), end.signal);
  const text = `berth-test ${process.pid}`;
  await expect
    .poll(
      () => {
        if (received.length === 0) writeFileSync("/dev/kmsg", `<6>${text}\n`);
        return received.includes(text);
      },
      { timeout: 10_000, interval: 200 },
    )
    .toBe(true);
  expect(received.length).toBeLessThan(100);
  end.abort();
  await running;
});

test("a log that cannot be read is an error", async () => {
  const log = new DeviceKernelLog("/nowhere");
  await expect(log.run(() => undefined, new AbortController().signal)).rejects.toThrow("ENOENT");
});
