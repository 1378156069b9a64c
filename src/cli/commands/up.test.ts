import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CapturedTerminal, captureTerminal } from "../../../test/fakes/captured-terminal.ts";
import { runCli } from "../main.ts";

let folder: string;
let terminal: CapturedTerminal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-up-"));
  terminal = captureTerminal({ environment: {}, nowMs: 0 });
});

afterEach(() => rmSync(folder, { recursive: true }));

test.each([
  ["--cgroup-root", "../x"],
  ["--manifest-url", "pods.yaml"],
  ["--file-check-frequency", "often"],
  ["--subnet", "10.0.0.0"],
  ["--eviction-hard", "memory"],
  ["--max-parallel-image-pulls", "none"],
  ["--node-name", "-"],
])("up refuses %s %s as wrong usage, before it writes anything", async (flag, value) => {
  const dataDir = join(folder, "data");
  const args = ["up", "-f", folder, "--data-dir", dataDir, flag, value];
  expect(await runCli(args, terminal, AbortSignal.timeout(10_000))).toBe(2);
  expect(terminal.stderrText()).toContain(flag);
  expect(terminal.stderrText()).toContain("berth up --help shows how it is used");
  expect(existsSync(dataDir)).toBe(false);
});

test.each(["up", "plan"])(
  "%s takes one path with -f, and says what to do with two",
  async (name) => {
    const args = [name, "-f", "a", "-f", "b"];
    expect(await runCli(args, terminal, AbortSignal.timeout(10_000))).toBe(2);
    expect(terminal.stderrText()).toContain("flag -f can be given once, not for a, b");
  },
);
