import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseHostsFile } from "./hosts-file.ts";
import { ParsedFile } from "./parsed-file.ts";

test("addresses are found by any of their names, whatever their case", () => {
  const names = parseHostsFile("127.0.0.1 localhost\tLoop. # here\nnonsense x\n::1 localhost\n");
  expect(names.get("localhost")).toEqual(["127.0.0.1", "::1"]);
  expect(names.get("loop")).toEqual(["127.0.0.1"]);
  expect(names.has("x")).toBe(false);
});

test("a file is read again when it changed, only up to its limit, and as empty when it is gone", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-hosts-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "hosts");
  let parses = 0;
  const file = new ParsedFile(path, 8, (text) => {
    parses++;
    return text;
  });
  expect(file.read()).toBe("");
  writeFileSync(path, "short");
  expect([file.read(), file.read(), parses]).toEqual(["short", "short", 2]);
  writeFileSync(path, "longer than eight bytes");
  expect(file.read()).toBe("longer t");
  rmSync(path);
  expect(file.read()).toBe("");
});
