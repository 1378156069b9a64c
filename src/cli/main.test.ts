import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CapturedTerminal, captureTerminal } from "../../test/fakes/captured-terminal.ts";
import { InMemoryAgentView } from "../../test/fakes/in-memory-agent-view.ts";
import { type ServedApi, serveApi } from "../../test/fakes/served-api.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { failed, passed } from "../lib/check-result.ts";
import type { PodHolding } from "../model/holding.ts";
import { podUid } from "../model/ids.ts";
import { renderChecks } from "./commands/check.ts";
import { runCli } from "./main.ts";
import { painter } from "./output/colour.ts";

const nowMs = Date.parse("2026-01-01T00:10:00Z");
let view: InMemoryAgentView;
let api: ServedApi;
let terminal: CapturedTerminal;

beforeEach(async () => {
  view = new InMemoryAgentView();
  view.put(runningPod("web", { labels: { app: "web" } }));
  view.put(runningPod("db", { namespace: "team" }));
  api = await serveApi(view);
  terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir }, nowMs });
});

afterEach(() => api.stop());

function berth(...args: readonly string[]): Promise<number> {
  return runCli(args, terminal, AbortSignal.timeout(10_000));
}

function held(uid: string, resource: string, what: string): PodHolding {
  const pod = { namespace: "default", name: uid, uid };
  return { pod, container: "main", resource, what, because: "it asks for it" };
}

describe("top", () => {
  const used = (milliCores: number, mebibytes: number) => ({
    cpu: { timeMs: 1, usageNanoCores: milliCores * 1_000_000 },
    memory: { timeMs: 1, workingSetBytes: mebibytes * 2 ** 20, availableBytes: 900 * 2 ** 20 },
  });
  const podOf = (name: string, namespace: string, milliCores: number, mebibytes: number) => ({
    podRef: { name, namespace, uid: name },
    startTimeMs: 1,
    containers: [{ name: "main", startTimeMs: 1, ...used(milliCores, mebibytes - 1) }],
    ...used(milliCores, mebibytes),
  });

  beforeEach(() => {
    view.stats = {
      node: { nodeName: "node-1", startTimeMs: 1, ...used(500, 100) },
      pods: [
        podOf("web", "default", 12, 34),
        podOf("db", "default", 3, 300),
        podOf("log", "ops", 1, 5),
      ],
    };
  });

  test("shows pods by name, or the greatest first", async () => {
    expect(await berth("top", "pods")).toBe(0);
    expect(terminal.stdoutText()).toBe(
      "NAME   CPU(cores)   MEMORY(bytes)\n" +
        "db     3m           300Mi\n" +
        "web    12m          34Mi\n",
    );
    expect(await berth("top", "pods", "-A", "--sort-by", "cpu")).toBe(0);
    expect(terminal.stdoutText()).toContain(
      "NAMESPACE   NAME   CPU(cores)   MEMORY(bytes)\ndefault     web",
    );
  });

  test("shows what containers have for themselves, where any has something", async () => {
    view.node = { ...view.node, holdings: [held("db", "cpu", "2-3"), held("db", "x/gpu", "a")] };
    expect(await berth("top", "pods")).toBe(0);
    expect(terminal.stdoutText()).toBe(
      "NAME   CPU(cores)   MEMORY(bytes)   HOLDS\n" +
        "db     3m           300Mi           cpu 2-3; x/gpu a\n" +
        "web    12m          34Mi            <none>\n",
    );
    expect(await berth("top", "pods", "web")).toBe(0);
    expect(terminal.stdoutText()).toContain("NAME   CPU(cores)   MEMORY(bytes)\nweb");
  });

  test("shows one pod's containers, and says when it does not run", async () => {
    expect(await berth("top", "pod", "web", "--containers")).toBe(0);
    expect(terminal.stdoutText()).toBe(
      "POD   NAME   CPU(cores)   MEMORY(bytes)\nweb   main   12m          33Mi\n",
    );
    expect(await berth("top", "pod", "none")).toBe(1);
    expect(terminal.stderrText()).toContain("no pod default/none runs here");
  });

  test("shows the node, as a part of what it has", async () => {
    expect(await berth("top", "node")).toBe(0);
    expect(terminal.stdoutText()).toMatch(/^node-1\s+500m\s+\d+%\s+100Mi\s+10%$/m);
    expect(await berth("top")).toBe(2);
  });
});

describe("gc", () => {
  const container = {
    kind: "container",
    id: "c1",
    name: "default/web/main",
    because: "its pod is gone",
  } as const;
  const image = {
    kind: "image",
    id: "sha256:1",
    name: "example.com/app:1",
    because: "no container uses it",
    bytes: 2048,
  } as const;

  test("--plan shows what would go and why, and removes nothing", async () => {
    view.garbage = [container, image];
    expect(await berth("gc", "--plan", "--all")).toBe(0);
    expect(terminal.stdoutText()).toBe(
      "KIND        NAME                SIZE      WHY\n" +
        "container   default/web/main              its pod is gone\n" +
        "image       example.com/app:1   2.0 KiB   no container uses it\n",
    );
    expect(view.garbage).toHaveLength(2);
  });

  test("removes what goes by policy, and says so", async () => {
    view.garbage = [container, image];
    expect(await berth("gc", "-o", "json")).toBe(0);
    expect(JSON.parse(terminal.stdoutText())).toEqual({ items: [container] });
    expect(view.garbage).toEqual([image]);
    expect(await berth("gc")).toBe(0);
    expect(terminal.stdoutText()).toContain("There was nothing to remove.");
  });
});

describe("get", () => {
  test("lists the pods of a namespace, or of all", async () => {
    expect(await berth("get", "pods")).toBe(0);
    expect(terminal.stdoutText()).toBe(
      "NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          10m\n",
    );
  });

  test("shows more with -o wide and the namespace with -A", async () => {
    await berth("get", "po", "-A", "-owide", "--no-headers");
    expect(terminal.stdoutText().split(/\s+/).slice(0, 8)).toEqual(
      "default web 1/1 Running 0 10m 10.88.0.2 node-1".split(" "),
    );
  });

  test("prints names, or one object as yaml, or a list as json", async () => {
    await berth("get", "pods", "-o", "name");
    expect(terminal.stdoutText()).toBe("pod/web\n");
    terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir } });
    await berth("get", "pod/web", "-o", "yaml");
    expect(terminal.stdoutText()).toMatch(/^apiVersion: v1\nkind: Pod\nmetadata:\n/);
    terminal = captureTerminal({ environment: { BERTH_DATA_DIR: api.dataDir } });
    await berth("get", "pods", "-o", "json");
    expect(JSON.parse(terminal.stdoutText())).toMatchObject({ kind: "List", items: [{}] });
  });

  test("says when there is none, and where a pod of that name is", async () => {
    expect(await berth("get", "pods", "-l", "app=none")).toBe(0);
    expect(terminal.stderrText()).toBe("No resources found in default namespace.\n");
    expect(await berth("get", "pod", "db")).toBe(4);
    expect(terminal.stderrText()).toContain("there is one in namespace team: add -n team");
  });

  test("finds a static pod by the name in its manifest", async () => {
    view.put(runningPod("static-node-1"));
    expect(await berth("get", "pod", "static", "-o", "name")).toBe(0);
    expect(terminal.stdoutText()).toBe("pod/static-node-1\n");
  });

  test("with -w prints what changes, row by row, until it is interrupted", async () => {
    const interrupt = new AbortController();
    const running = runCli(["get", "pods", "-w"], terminal, interrupt.signal);
    const lines = () => terminal.stdoutText().trimEnd().split("\n");
    await expect.poll(lines).toHaveLength(2);
    const { status, ...pod } = runningPod("web", { labels: { app: "web" } });
    view.put({ ...pod, status });
    view.put({
      ...pod,
      status: { ...status, phase: "Failed", reason: "Evicted", containerStatuses: [] },
    });
    await expect.poll(lines).toHaveLength(3);
    expect(lines()[2]).toMatch(/^web {4}0\/1 {5}Evicted {3}0/);
    interrupt.abort();
    expect(await running).toBe(0);
  });
});

test("describe shows the pod, its containers and its events", async () => {
  view.events = [
    {
      metadata: { name: "e1", namespace: "default" },
      involvedObject: { uid: "uid-web", fieldPath: "spec.containers{main}" },
      type: "Warning",
      reason: "BackOff",
      message: "Back-off restarting failed container",
      count: 4,
      firstTimestamp: "2026-01-01T00:05:00Z",
      lastTimestamp: "2026-01-01T00:09:00Z",
      source: { component: "kubelet" },
    },
  ];
  expect(await berth("describe", "pod", "web")).toBe(0);
  const text = terminal.stdoutText();
  expect(text).toMatch(/^Name: +web\nNamespace: +default\n/);
  expect(text).toContain("Containers:\n  main:\n    Container ID:");
  expect(text).toMatch(/State: +Running\n {6}Started: +\w{3}, \d\d \w{3} \d{4} /);
  expect(text).toMatch(
    /Warning {2}BackOff {2}60s \(x4 over 5m\) {2}kubelet {2}spec.containers\{main\}: Back-off/,
  );
});

test("describe shows what a container has for itself, and why", async () => {
  view.node = {
    ...view.node,
    holdings: [held("uid-web", "cpu", "2-3"), held("other", "cpu", "4")],
  };
  expect(await berth("describe", "pod", "web")).toBe(0);
  expect(terminal.stdoutText()).toMatch(/ {4}Holds:\n {6}cpu: +2-3\n +because it asks for it\n/);
  expect(terminal.stdoutText()).not.toMatch(/cpu: +4/);
});

test("describe node shows what is left of each resource, and who has the rest", async () => {
  view.node = {
    node: { metadata: { name: "node-1" } },
    policies: { cpu: "static", memory: "None", topology: "restricted", topologyScope: "pod" },
    resources: [
      { resource: "cpu", capacity: "8", allocatable: "6", free: "4-7" },
      { resource: "memory", capacity: "8Gi", allocatable: "7Gi" },
      { resource: "x/gpu", capacity: "2", allocatable: "1", free: "", unhealthy: "b" },
    ],
    holdings: [
      held("web", "cpu", "2-3"),
      held("web", "x/gpu", "a"),
      held("db", "claim disk", "driver/pool/d1"),
    ],
  };
  expect(await berth("describe", "node")).toBe(0);
  expect(terminal.stdoutText()).toBe(`Name:              node-1
CPU Manager:       static
Memory Manager:    None
Topology Manager:  restricted (scope pod)
Resources:
  cpu:
    Capacity:     8
    Allocatable:  6
    Handed Out:   2-3 to default/web, container main
    Free:         4-7
  memory:
    Capacity:     8Gi
    Allocatable:  7Gi
  x/gpu:
    Capacity:     2
    Allocatable:  1
    Handed Out:   a to default/web, container main
    Free:         <none>
    Unhealthy:    b
Claims:           claim disk: driver/pool/d1 to default/db, container main
`);
  expect(await berth("describe", "node", "other")).toBe(2);
});

describe("logs", () => {
  test("prints a container's log, and all of them with their names", async () => {
    const path = join(api.dataDir, "0.log");
    await writeFile(
      path,
      "2026-01-01T00:09:00Z stdout F hello\n2026-01-01T00:09:59Z stderr F world\n",
    );
    view.logs.set("web/main", { path, finished: async () => true });
    expect(await berth("logs", "web", "--since", "30s")).toBe(0);
    expect(terminal.stdoutText()).toBe("world\n");
    await berth("logs", "pod/web", "--all-containers", "--tail=1");
    expect(terminal.stdoutText()).toBe("world\n[pod/web/main] world\n");
  });

  test("refuses what cannot be meant, before asking the agent", async () => {
    expect(await berth("logs")).toBe(2);
    expect(await berth("logs", "web", "--since", "yesterday")).toBe(2);
    expect(await berth("logs", "web", "extra")).toBe(2);
    expect(await berth("logs", "deployment/web")).toBe(2);
    expect(await berth("logs", "web", "-c", "none")).toBe(4);
    expect(terminal.stderrText()).toContain('pod "web" has no container "none"; it has: main');
  });
});

test("why reports what is wanted, observed, decided and awaited", async () => {
  const pod = runningPod("web");
  view.explanations.set("uid-web", {
    pod,
    workerState: "syncing",
    awaiting: [{ what: "the back-off of container main", untilMs: nowMs + 20_000 }],
    syncs: [
      {
        podUid: podUid("uid-web"),
        pod: "default/web",
        kind: "sync",
        startedAtMs: nowMs - 5000,
        durationMs: 1234,
        seen: ["sandbox 0123 ready", "container main exited with 1"],
        steps: [
          {
            action: "start container main",
            because: "it exited with 1 and the restart policy is Always",
            outcome: "waiting",
            detail: "back-off 40s restarting failed container",
            untilMs: nowMs + 20_000,
            durationMs: 0,
          },
        ],
      },
    ],
  });
  expect(await berth("why", "web")).toBe(0);
  expect(terminal.stdoutText()).toBe(`Pod default/web  uid-web
Running, 1/1 ready, 0 restarts, 10m old; its worker: syncing

Wanted
  restart policy Always
  regular container   main   example.test/app:1

Seen
  at the last sync, 5s ago (2026-01-01T00:09:55Z):
  sandbox 0123 ready
  container main exited with 1

Decided, newest first
  5s ago (2026-01-01T00:09:55Z), sync, took 1.2s:
    start container main: waiting until 2026-01-01T00:10:20Z (in 20s)
      because it exited with 1 and the restart policy is Always
      back-off 40s restarting failed container

Awaited
  the back-off of container main, at 2026-01-01T00:10:20Z (in 20s)
`);
});

test.each(["describe", "get"])("%s with a name alone says how to name a pod", async (command) => {
  expect(await berth(command, "web")).toBe(2);
  expect(terminal.stderrText()).toContain(`for a pod of that name: berth ${command} pod web`);
});

test("why does not say that nothing runs when an error was recorded without a look at the runtime", async () => {
  const failed = {
    podUid: podUid("uid-web"),
    pod: "default/web",
    kind: "sync",
    startedAtMs: nowMs - 5000,
    durationMs: 0,
    steps: [],
    error: "unexpected error (probe): broken",
  } as const;
  const explanation = { pod: runningPod("web"), workerState: "syncing", awaiting: [] } as const;
  view.explanations.set("uid-web", { ...explanation, syncs: [failed] });
  expect(await berth("why", "web")).toBe(0);
  expect(terminal.stdoutText()).toContain(
    "Seen\n  unknown: no recorded sync looked at the runtime\n",
  );
  const seen = ["container main is running"];
  const before = { ...failed, startedAtMs: nowMs - 9000, seen, error: undefined };
  view.explanations.set("uid-web", { ...explanation, syncs: [failed, before] });
  expect(await berth("why", "web")).toBe(0);
  expect(terminal.stdoutText()).toContain("  at the last sync, 9s ago (2026-01-01T00:09:51Z):\n");
});

test("why reports why a sync was cancelled that had done nothing yet", async () => {
  view.explanations.set("uid-web", {
    pod: runningPod("web"),
    workerState: "terminating",
    awaiting: [],
    syncs: [
      {
        podUid: podUid("uid-web"),
        pod: "default/web",
        kind: "sync",
        startedAtMs: nowMs - 5000,
        durationMs: 1234,
        seen: [],
        steps: [],
        cancelled: "the pod is to end",
      },
    ],
  });
  expect(await berth("why", "web")).toBe(0);
  expect(terminal.stdoutText()).toContain("took 1.2s:\n    cancelled: the pod is to end\n");
});

test.each([
  ["get", "pods"],
  ["describe", "pod", "web"],
  ["logs", "web"],
  ["why", "web"],
  ["exec", "web"],
])("without an agent %s says how to start it, and exits with 3", async (...args) => {
  expect(await berth(...args, "--data-dir", "/nowhere", "--", "ls")).toBe(3);
  expect(terminal.stderrText()).toContain("Start it with: berth up --data-dir /nowhere\n");
});

test("check prints a line per finding, with the fix", () => {
  const text = renderChecks(
    [passed("kernel", "6.1"), failed("runc", "not found", "apt install runc")],
    painter(false),
  );
  expect(text).toBe(`ok       kernel   6.1
failed   runc     not found
          fix: apt install runc

Berth cannot run here: 1 of 2 checks failed.
`);
});

test("unknown commands and flags exit with 2, naming the nearest", async () => {
  expect(await berth("gte", "pods")).toBe(2);
  expect(await berth("get", "pods", "--namespce", "x")).toBe(2);
  expect(await berth("get", "nodes")).toBe(2);
  expect(await berth("exec", "web")).toBe(2);
  expect(terminal.stderrText()).toContain("did you mean get?");
  expect(terminal.stderrText()).toContain("did you mean --namespace?");
});

test("every command has help with examples", async () => {
  await berth("--help");
  const names = [...terminal.stdoutText().matchAll(/^ {2}([a-z]+) {2}/gm)].map((match) => match[1]);
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) {
    terminal = captureTerminal();
    expect(await berth(name ?? "", "--help")).toBe(0);
    expect(terminal.stdoutText()).toContain(`Usage: berth ${name}`);
    expect(terminal.stdoutText()).toMatch(/Examples:\n {2}\S/);
  }
});
