import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { setOpenFileLimit } from "./open-file-limit.ts";

function limits(): readonly string[] {
  const text = readFileSync("/proc/self/limits", "utf8");
  return /^Max open files +(\d+) +(\d+)/m.exec(text)?.slice(1) ?? [];
}

test("both limits of this process are set, as far as the kernel allows", async () => {
  const [, hard = "0"] = limits();
  const count = Number(hard) - 1;
  await setOpenFileLimit(count, AbortSignal.timeout(20_000));
  expect(limits()).toEqual([String(count), String(count)]);
  await expect(setOpenFileLimit(2 ** 40, AbortSignal.timeout(20_000))).rejects.toThrow(
    "prlimit: failed to set",
  );
});
