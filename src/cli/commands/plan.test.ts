import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CapturedTerminal, captureTerminal } from "../../../test/fakes/captured-terminal.ts";
import { InMemoryAgentView } from "../../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../../test/fakes/served-api.ts";
import { runCli } from "../main.ts";

let view: InMemoryAgentView;
let api: ServedApi;
let terminal: CapturedTerminal;

beforeEach(async () => {
  view = new InMemoryAgentView();
  api = await serveApi(view);
  terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir } });
});

afterEach(() => api.stop());

function berth(...args: readonly string[]): Promise<number> {
  return runCli(args, terminal, AbortSignal.timeout(10_000));
}

async function manifest(text: string): Promise<string> {
  const path = join(api.dataDir, "pod.yaml");
  await writeFile(path, text);
  return path;
}

test("shows names, filled-in fields and the steps of the start in their order", async () => {
  const path = await manifest(`apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: setup, image: "example.test/setup:1"}
  - {name: proxy, image: "example.test/proxy:1", restartPolicy: Always}
  containers:
  - {name: main, image: "example.test/app:1"}
`);
  expect(await berth("plan", "-f", path, "--node-name", "node-1")).toBe(0);
  const text = terminal.stdoutText();
  expect(text).toContain("line 1: accepted Pod default/web-node-1\n");
  expect(text).toMatch(/QoS class +BestEffort/);
  expect(text).toMatch(/main +regular +example.test\/app:1 +pull IfNotPresent/);
  expect(text).toMatch(/spec.terminationGracePeriodSeconds +30/);
  expect([...text.matchAll(/^ +\d\. (.*)$/gm)].map((match) => match[1])).toEqual([
    "create the sandbox",
    "start init container setup",
    "start init container proxy",
    "start container main",
  ]);
});

test("names line and field of what is wrong, per document, and exits with 1", async () => {
  const path = await manifest(`apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: value}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: main
    comand: [x]
`);
  expect(await berth("plan", "-f", path)).toBe(1);
  expect(terminal.stdoutText()).toContain("accepted ConfigMap default/settings\n    keys: key");
  expect(terminal.stdoutText()).toContain(
    "line 12, column 5: unknown field spec.containers[0].comand: did you mean command?",
  );
  expect(terminal.stdoutText()).toContain("Nothing of this file runs");
});

const guaranteed = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: main, image: "a:1", resources: {limits: {cpu: "1", memory: 1Mi}}}
`;

test("asks the agent what containers would get for themselves", async () => {
  const cpu = { container: "main", resource: "cpu", what: "2", because: "it asks for it" };
  view.rehearsed.set("web-node-1", { holdings: [cpu], makesRoom: ["default/old"] });
  expect(await berth("plan", "-f", await manifest(guaranteed))).toBe(0);
  expect(terminal.stdoutText()).toContain(
    "    ends to make room for it: default/old\n    for its containers alone:\n      container main: cpu 2: it asks for it\n",
  );
});

test("shows why the agent would refuse a pod", async () => {
  const refusal = { reason: "TopologyAffinityError", message: "no", because: "node 0 is full" };
  view.rehearsed.set("web-node-1", { refusal, holdings: [], makesRoom: [] });
  expect(await berth("plan", "-f", await manifest(guaranteed))).toBe(1);
  expect(terminal.stdoutText()).toContain(
    "rejected: TopologyAffinityError: no\n    because node 0 is full\n",
  );
});

test("says what it cannot know where no agent runs", async () => {
  const path = await manifest(guaranteed);
  expect(await berth("plan", "-f", path, "--data-dir", "/nonexistent")).toBe(0);
  expect(terminal.stdoutText()).toContain(
    "for its containers alone:\n      unknown: no agent answers here",
  );
});

test("says that a pod does not fit on this node", async () => {
  const path = await manifest(`apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: main, image: "a:1", resources: {requests: {memory: 500Ti}}}
`);
  expect(await berth("plan", "-f", path, "--data-dir", "/nonexistent")).toBe(1);
  expect(terminal.stdoutText()).toContain("rejected: OutOfmemory");
});
