import { afterEach, beforeEach, expect, test } from "vitest";
import { type CapturedTerminal, captureTerminal } from "../../../test/fakes/captured-terminal.ts";
import { InMemoryAgentView } from "../../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../../test/fakes/served-api.ts";
import { runningPod } from "../../../test/kit/pods.ts";
import { runCli } from "../main.ts";

let view: InMemoryAgentView;
let api: ServedApi;
let terminal: CapturedTerminal;

beforeEach(async () => {
  view = new InMemoryAgentView();
  const pod = runningPod("web");
  view.put(pod);
  view.explanations.set("uid-web", { pod, workerState: "syncing", awaiting: [], syncs: [] });
  api = await serveApi(view);
  terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir } });
  view.sourceProblems = [
    { origin: "/pods/web.yaml", line: 7, message: "unknown field", pods: ["default/web"] },
    { origin: "/pods/db.yaml", line: 3, column: 5, field: "spec.x", message: "unknown field" },
  ];
});

afterEach(() => api.stop());

function why(...args: readonly string[]): Promise<number> {
  return runCli(["why", ...args], terminal, AbortSignal.timeout(10_000));
}

test("why reports what is wrong in a newer version of a running pod's manifest, and in no other", async () => {
  expect(await why("web")).toBe(0);
  expect(terminal.stdoutText()).toContain(
    "\nWanted, but refused\n  /pods/web.yaml: line 7: unknown field\n\nSeen\n",
  );
  expect(terminal.stdoutText()).not.toContain("db.yaml");
});

test("why -o json has the problems of the pod", async () => {
  expect(await why("web", "-o", "json")).toBe(0);
  expect(JSON.parse(terminal.stdoutText())).toMatchObject({
    workerState: "syncing",
    problems: [{ origin: "/pods/web.yaml" }],
  });
});

test("why of a pod that never got in names all that was refused", async () => {
  expect(await why("db")).toBe(4);
  expect(terminal.stderrText()).toBe(
    [
      'berth: there is no pod "db" in namespace default',
      "It may be in what was refused:",
      "  /pods/web.yaml: line 7: unknown field",
      "  /pods/db.yaml: line 3, column 5: spec.x: unknown field",
      "",
    ].join("\n"),
  );
});

test("why of a pod that is not there says no more when nothing was refused", async () => {
  view.sourceProblems = [];
  expect(await why("db")).toBe(4);
  expect(terminal.stderrText()).toBe('berth: there is no pod "db" in namespace default\n');
});
