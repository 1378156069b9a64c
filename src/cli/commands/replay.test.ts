import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CapturedTerminal, captureTerminal } from "../../../test/fakes/captured-terminal.ts";
import { InMemoryAgentView } from "../../../test/fakes/in-memory-agent-view.ts";
import { serveApi } from "../../../test/fakes/served-api.ts";
import { runningPod } from "../../../test/kit/pods.ts";
import { runCli } from "../main.ts";

let folder: string;
let terminal: CapturedTerminal;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-replay-"));
  terminal = captureTerminal({ environment: {}, nowMs: 0 });
});

afterEach(() => rm(folder, { recursive: true }));

function berth(...args: readonly string[]): Promise<number> {
  return runCli(args, terminal, AbortSignal.timeout(10_000));
}

test("replay without a file, or with two, is wrong usage", async () => {
  expect(await berth("replay")).toBe(2);
  expect(terminal.stderrText()).toContain("the file is missing: berth replay FILE");
  expect(await berth("replay", "a", "b")).toBe(2);
});

test("replay says why a file cannot be read, and where it is wrong", async () => {
  const file = join(folder, "pods.yaml");
  expect(await berth("replay", file)).toBe(2);
  expect(terminal.stderrText()).toBe(`berth: ${file}: no such file or folder\n`);
  expect(await berth("replay", folder)).toBe(2);
  expect(terminal.stderrText()).toContain(`berth: ${folder}: it is a folder, not a file\n`);
  await writeFile(file, "kind: Pod\n");
  expect(await berth("replay", file)).toBe(2);
  expect(terminal.stderrText()).toContain(`${file}:1: this is not a recording`);
});

test("replay reports how much it has decided again, and which version decided it", async () => {
  const file = join(folder, "empty.jsonl");
  await writeFile(file, '{"berthRecording":2,"berthVersion":"0.0.9","nodeName":"n1"}\n');
  expect(await berth("replay", file)).toBe(0);
  expect(terminal.stdoutText()).toContain(
    "0 decisions, all the same; recorded by Berth 0.0.9 on n1",
  );
});

test("why --recording writes what the agent has recorded of one pod or of all", async () => {
  const view = new InMemoryAgentView();
  for (const name of ["web", "db"]) view.put(runningPod(name));
  const api = await serveApi(view);
  try {
    const dataDir = ["--data-dir", api.dataDir];
    expect(await berth("why", "--recording", ...dataDir)).toBe(0);
    expect(terminal.stdoutText()).toBe("{}\nuid-web\nuid-db\n");
    expect(await berth("why", "db", "--recording", ...dataDir)).toBe(0);
    expect(terminal.stdoutText()).toBe("{}\nuid-web\nuid-db\n{}\nuid-db\n");
    expect(await berth("why", "other", "--recording", ...dataDir)).toBe(4);
  } finally {
    await api.stop();
  }
});
