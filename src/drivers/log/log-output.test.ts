import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LogOutput } from "./log-output.ts";

const line = `${"x".repeat(999)}\n`;

let folder: string;
let reader: number;
let writer: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-log-"));
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
});
afterEach(() => {
  closeSync(writer);
  rmSync(folder, { recursive: true });
});

/** All that can be read now. */
function read(): string {
  const buffer = Buffer.alloc(65_536);
  let text = "";
  for (;;) {
    try {
      const count = readSync(reader, buffer);
      if (count === 0) return text;
      text += buffer.toString("utf8", 0, count);
    } catch {
      return text;
    }
  }
}

test("lines without a reader are kept up to a bound, then dropped and counted, and come whole and in order", async () => {
  let dropped = 0;
  const output = new LogOutput(writer, (lines) => {
    dropped += lines;
    output.write("dropped\n");
  });
  for (let index = 0; index < 3_000; index++) output.write(`${index}${line}`);
  let text = "";
  await expect
    .poll(
      () => {
        text += read();
        return text;
      },
      { timeout: 20_000 },
    )
    .toContain("dropped\n");
  closeSync(reader);
  const lines = text.replace("dropped\n", "").trimEnd().split("\n");
  expect(lines).toEqual(lines.map((_, index) => `${index}${line}`.trimEnd()));
  // A pipe holds 64 KiB, the output 1 MiB.
  expect(lines.length).toBeGreaterThan(1_000);
  expect(lines.length + dropped).toBe(3_000);
});

test("at the end what is left is written as far as it is read", () => {
  const output = new LogOutput(writer, () => undefined);
  for (let index = 0; index < 70; index++) output.write(line);
  const before = read();
  output.flush();
  expect(before.length + read().length).toBe(70 * line.length);
  closeSync(reader);
});

test("lines are dropped once the reader is gone", () => {
  const output = new LogOutput(writer, () => undefined);
  closeSync(reader);
  expect(() => output.write(line)).not.toThrow();
  output.flush();
});
