import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BerthProcess, buildProgram } from "../integration/support/agent-process.ts";

let folder: string;
let pipe: string;
beforeAll(() => {
  buildProgram();
  folder = mkdtempSync(join(tmpdir(), "berth-pipe-"));
  pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  { title: "check --config", args: () => ["check", "--config", pipe], names: () => pipe },
  {
    title: "check --cis --config",
    args: () => ["check", "--cis", "--config", pipe],
    names: () => pipe,
  },
  {
    title: "check --config with an endless device",
    args: () => ["check", "--config", "/dev/zero"],
    names: () => "/dev/zero",
  },
  { title: "replay", args: () => ["replay", pipe], names: () => pipe },
])("berth $title names what is not a regular file, and ends", async ({ args, names }) => {
  const { code, stdout, stderr } = await new BerthProcess(args()).ended;
  expect(code).toBeGreaterThan(0);
  expect(stdout + stderr).toContain(names());
  expect(stdout + stderr).toContain("not a regular file");
});
