import { afterEach, beforeEach, expect, test } from "vitest";
import { type CapturedTerminal, captureTerminal } from "../../../test/fakes/captured-terminal.ts";
import { InMemoryAgentView } from "../../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../../test/fakes/served-api.ts";
import { runningPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import type { HistoryEntry, StatusEntry } from "../../ports/history.ts";
import { runCli } from "../main.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const uid = podUid("uid-gone");
const ofPod = { uid, pod: "default/gone" } as const;

const status: StatusEntry = {
  kind: "status",
  atMs: startMs,
  ...ofPod,
  ready: "0/1",
  status: "Error",
  restarts: 2,
  phase: "Failed",
  message: "it ended",
  containers: [
    {
      name: "main",
      kind: "regular",
      ready: false,
      restarts: 2,
      state: { is: "terminated", reason: "Error", exitCode: 3, finishedMs: startMs },
    },
  ],
  conditions: [],
};

const lifeOfGone: readonly HistoryEntry[] = [
  status,
  {
    kind: "sync",
    atMs: startMs + 1000,
    ...ofPod,
    work: "sync",
    durationMs: 12,
    steps: [
      {
        action: "start container main",
        because: "container main exited with code 3",
        outcome: "failed",
        detail: "no space\u001b[2J",
        durationMs: 5,
      },
    ],
  },
  {
    kind: "event",
    atMs: startMs + 2000,
    ...ofPod,
    type: "Warning",
    reason: "BackOff",
    message: "Back-off restarting",
    count: 4,
  },
  { kind: "gone", atMs: startMs + 3000, ...ofPod },
];

let view: InMemoryAgentView;
let api: ServedApi;
let terminal: CapturedTerminal;

beforeEach(async () => {
  view = new InMemoryAgentView();
  for (const entry of lifeOfGone) view.historyStore.append(entry);
  view.historyStore.append({ kind: "agent", atMs: startMs, what: "started", version: "1.2.3" });
  api = await serveApi(view);
  terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir } });
});

afterEach(() => api.stop());

function berth(...args: readonly string[]): Promise<number> {
  return runCli(args, terminal, AbortSignal.timeout(10_000));
}

test("history lists the pods that it knows, with when they went", async () => {
  expect(await berth("history")).toBe(0);
  expect(terminal.stdoutText()).toMatch(/^NAME +READY +STATUS +RESTARTS +FIRST SEEN +GONE +UID\n/);
  expect(terminal.stdoutText()).toMatch(/^gone +0\/1 +Error +2 +\S+ ago +\S+ ago +uid-gone$/m);
});

test("history of a pod has its life, oldest first, and lets no text move the cursor", async () => {
  expect(await berth("history", "gone")).toBe(0);
  expect(terminal.stdoutText().split("\n").slice(3)).toEqual([
    "2026-01-01T00:00:00Z  status: Error, 0/1 ready, 2 restarts, phase Failed: it ended",
    "  regular container main: ended with exit code 3 (Error) at 2026-01-01T00:00:00Z",
    "2026-01-01T00:00:01Z  sync, took 12ms:",
    "  start container main: failed in 5ms",
    "    because container main exited with code 3",
    "    no space\uFFFD[2J",
    "2026-01-01T00:00:02Z  event: BackOff: Back-off restarting (4 times)",
    "2026-01-01T00:00:03Z  gone: nothing of it is left on the node",
    "",
  ]);
});

test("history is cut to the newest entries, over several pages of the agent's answers", async () => {
  for (let number = 0; number < 2500; number++) {
    const message = `number ${number}`;
    const event = { kind: "event", ...ofPod, type: "Normal", reason: "Tested", count: 1 } as const;
    view.historyStore.append({ ...event, atMs: startMs + 10_000 + number, message });
  }
  expect(await berth("history", "gone", "--limit", "2100")).toBe(0);
  const lines = terminal.stdoutText().trimEnd().split("\n").slice(3);
  expect(lines).toHaveLength(2101);
  expect(lines[0]).toBe("older entries are left out: --limit shows more");
  expect(lines[1]).toContain("number 400");
  expect(lines.at(-1)).toContain("number 2499");
});

test("history of the node shows no pods", async () => {
  expect(await berth("history", "--node")).toBe(0);
  expect(terminal.stdoutText()).toBe("2026-01-01T00:00:00Z  agent: started (version 1.2.3)\n");
});

test("history -o json has a line for each entry", async () => {
  expect(await berth("history", "gone", "-o", "json")).toBe(0);
  const lines = terminal.stdoutText().trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual(JSON.parse(JSON.stringify(lifeOfGone)));
});

test("--since leaves out what is older", async () => {
  expect(await berth("history", "gone", "--since", "1h")).toBe(0);
  expect(terminal.stdoutText()).toBe("");
  expect(terminal.stderrText()).toContain('Nothing happened to pod "gone" since then.');
});

test.each([
  [["--since", "soon"], 'flag --since: "soon" is not a duration; write 90s, 5m or 24h'],
  [["--limit", "0"], 'flag --limit: "0" is not a number from 1 to 9999999'],
  [["gone", "--node"], "--node and a pod exclude each other"],
])("bad flags are refused: %j", async (args, message) => {
  expect(await berth("history", ...args)).toBe(2);
  expect(terminal.stderrText()).toContain(message);
});

test("a pod that history does not know is not found", async () => {
  expect(await berth("history", "never")).toBe(4);
  expect(terminal.stderrText()).toContain(
    'history knows no pod "never" in namespace default; berth history lists those it knows',
  );
});

test("why --gone explains a pod that is gone", async () => {
  expect(await berth("why", "gone", "--gone")).toBe(0);
  const text = terminal.stdoutText();
  expect(text).toContain("Pod default/gone  uid-gone\ngone since ");
  expect(text).toMatch(/Last seen\n {2}\S+ ago \(2026-01-01T00:00:00Z\):\n {2}Error, 0\/1 ready/);
  expect(text).toContain("because container main exited with code 3");
  expect(text).toContain("event: BackOff: Back-off restarting (4 times)");
});

test("why --gone of a pod that is here names the way to explain it", async () => {
  const pod = runningPod("web");
  const { uid: ofWeb } = pod.metadata;
  view.table.writer("records").set(ofWeb, { syncs: [], decisions: [] });
  view.put(pod);
  view.historyStore.append({ ...status, uid: ofWeb, pod: "default/web" });
  expect(await berth("why", "web", "--gone")).toBe(4);
  expect(terminal.stderrText()).toContain("is on the node: berth why web explains it");
});

test("why of a pod that is gone says since when, and how to ask for it", async () => {
  expect(await berth("why", "gone")).toBe(4);
  expect(terminal.stderrText()).toContain(
    "It was here and is gone since 2026-01-01T00:00:03Z: add --gone",
  );
});
