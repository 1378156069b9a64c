import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { credentialPlugins } from "./credential-provider.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-provider-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function run(script: string, signal = new AbortController().signal): Promise<string> {
  writeFileSync(join(folder, "p"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const call = { name: "p", args: ["a b"], env: { WORD: "word" }, input: "question" };
  return credentialPlugins(folder).run(call, signal);
}

test("a program gets its arguments, its variables beside the agent's, and the question", async () => {
  expect(await run('echo "$1 $WORD $(cat) ${PATH:+path}"')).toBe("a b word question path\n");
});

test("a program that fails is quoted with its complaint, never with its answer", async () => {
  const failure = await run("echo canary; echo no access >&2; exit 3").catch(String);
  expect(failure).toBe("Error: it failed with exit code 3: no access");
});

test("a program that does not read its input works", async () => {
  expect(await run("exec <&-; echo answer")).toBe("answer\n");
});

test("a program that prints without end is stopped", async () => {
  await expect(run("yes canary")).rejects.toThrow(/printed too much|maxBuffer/);
});

test("a program is stopped when the agent ends", async () => {
  const stop = new AbortController();
  const running = run("sleep 60", stop.signal);
  stop.abort();
  await expect(running).rejects.toThrow("aborted");
});

test("a missing program is reported", async () => {
  const call = { name: "none", args: [], env: {}, input: "" };
  const { signal } = new AbortController();
  await expect(credentialPlugins(folder).run(call, signal)).rejects.toThrow("ENOENT");
});
