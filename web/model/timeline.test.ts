import { describe, expect, test } from "vitest";
import { podUid } from "../../src/model/ids.ts";
import type { ContainerMoment, HistoryEntry, StatusEntry } from "../../src/ports/history.ts";
import { drawItems } from "./collapse.ts";
import { makeTimeline } from "./timeline.ts";

const ofPod = { uid: podUid("uid-1"), pod: "default/web" };

function status(atMs: number, container: Partial<ContainerMoment>, text = "Running"): StatusEntry {
  const moment: ContainerMoment = {
    name: "main",
    kind: "regular",
    ready: false,
    restarts: 0,
    state: { is: "waiting" },
    ...container,
  };
  const rest = { phase: "Running", ready: "0/1", restarts: 0, conditions: [] };
  return { kind: "status", atMs, ...ofPod, status: text, ...rest, containers: [moment] };
}

function lanesOf(entries: readonly HistoryEntry[], nowMs = 100_000) {
  const { lanes } = makeTimeline({ entries, nowMs });
  return (id: string) => lanes.find((lane) => lane.id === id)?.items ?? [];
}

describe("a container's lane", () => {
  test("has its runs side by side, each with its end, also one that was only seen as the last one", () => {
    const first = { is: "terminated", startedMs: 1_000, finishedMs: 3_000, exitCode: 3 } as const;
    const oom = {
      ...first,
      startedMs: 8_000,
      finishedMs: 9_000,
      exitCode: 137,
      reason: "OOMKilled",
    };
    const lane = lanesOf([
      status(1_500, { state: { is: "running", startedMs: 1_000 } }),
      status(3_500, { state: first }),
      status(12_000, { state: { is: "running", startedMs: 10_000 }, last: oom }),
    ]);
    expect(lane("container-main")).toMatchObject([
      { startMs: 1_000, endMs: 3_000, label: "exit 3", tone: "bad" },
      { startMs: 8_000, endMs: 9_000, label: "OOM", tone: "bad" },
      { startMs: 10_000, endMs: 100_000, label: "running", tone: "good", isOpen: true },
    ]);
  });

  test("ends a run whose end nobody noted when it was last seen, and says so", () => {
    const lane = lanesOf([
      status(1_000, { state: { is: "running", startedMs: 1_000 } }),
      status(5_000, { state: { is: "running", startedMs: 4_000 } }),
    ]);
    const [lost] = lane("container-main");
    expect(lost).toMatchObject({
      startMs: 1_000,
      endMs: 5_000,
      label: "end unknown",
      tone: "warn",
    });
    expect(lost?.lines.map(({ text }) => text)).toContain("it was not noted how and when it ended");
  });

  test("has back-offs between the runs, and what probes found below them", () => {
    const running = { is: "running", startedMs: 20_000 } as const;
    const lane = lanesOf([
      status(5_000, {
        state: { is: "waiting", reason: "CrashLoopBackOff", message: "back-off 10s" },
      }),
      status(7_000, {
        state: { is: "waiting", reason: "CrashLoopBackOff", message: "back-off 10s" },
      }),
      status(20_000, { state: running }),
      status(25_000, { state: running, ready: true }),
    ]);
    expect(lane("container-main")[0]).toMatchObject({
      label: "CrashLoopBackOff",
      startMs: 5_000,
      endMs: 20_000,
      lines: [{ label: "Message", text: "back-off 10s" }],
    });
    expect(lane("container-main-below")).toMatchObject([
      { title: "Not ready", startMs: 20_000, endMs: 25_000 },
      { title: "Ready", startMs: 25_000, endMs: 100_000, isOpen: true },
    ]);
  });
});

describe("syncs", () => {
  const step = {
    action: "start container main",
    because: "container main does not exist",
    outcome: "failed",
    detail: "ErrImagePull: no such image",
    startedAtMs: 2_000,
    durationMs: 900,
    spans: [{ what: "image", startedAtMs: 2_100, durationMs: 700, failed: true }],
  } as const;
  const sandbox = {
    action: "create sandbox of web",
    because: "no sandbox exists",
    outcome: "done",
    startedAtMs: 1_200,
    durationMs: 300,
  } as const;
  const sync: HistoryEntry = {
    kind: "sync",
    atMs: 1_000,
    ...ofPod,
    work: "sync",
    durationMs: 2_000,
    seen: ["nothing"],
    prepared: [{ what: "volumes", startedAtMs: 1_010, durationMs: 150 }],
    steps: [sandbox, step],
  };
  const lane = lanesOf([sync, status(1_000, {})]);

  test("are plans with each step's reason and what became of it", () => {
    expect(lane("plans")).toMatchObject([{ startMs: 1_000, endMs: 3_000, tone: "bad" }]);
    expect(lane("plans")[0]?.lines).toEqual([
      { label: "Seen", text: "nothing" },
      { label: "Decided", text: "create sandbox of web" },
      { label: "Because", text: "no sandbox exists" },
      { label: "Done", text: "as decided", tone: "good" },
      { label: "Decided", text: "start container main" },
      { label: "Because", text: "container main does not exist" },
      { label: "Was failed", text: "ErrImagePull: no such image", tone: "bad" },
    ]);
  });

  test("give the sandbox its creation and its life, and show what was waited for", () => {
    expect(lane("sandbox")).toMatchObject([
      { title: "Creation of the sandbox", startMs: 1_200, endMs: 1_500 },
      { title: "Sandbox", startMs: 1_500, endMs: 100_000, isOpen: true },
    ]);
    expect(lane("prepare")).toMatchObject([{ startMs: 1_010, endMs: 1_160, label: "volumes" }]);
    expect(lane("container-main-below")).toMatchObject([
      { title: "Getting the image, failed", startMs: 2_100, endMs: 2_800, tone: "bad" },
    ]);
  });

  test("without times of steps, of an older agent, draw none", () => {
    const { startedAtMs: _, ...timeless } = sandbox;
    expect(lanesOf([{ ...sync, steps: [timeless] }])("sandbox")).toEqual([]);
  });
});

test("nothing after the chosen time is shown, and a pod that is gone ends when it went", () => {
  const entries = [
    status(1_000, { state: { is: "running", startedMs: 1_000 } }),
    { kind: "gone", atMs: 9_000, ...ofPod } as const,
  ];
  expect(lanesOf(entries, 5_000)("container-main")).toMatchObject([{ endMs: 5_000, isOpen: true }]);
  const [run] = lanesOf(entries, 50_000)("container-main");
  expect(run).toMatchObject({ endMs: 9_000 });
  expect(run?.isOpen).toBeUndefined();
});

test("a pod with 500 restarts is drawn in as many bars as there is room for, and none is lost", () => {
  const entries = Array.from({ length: 500 }, (_, index) => {
    const startedMs = index * 10_000;
    const state = {
      is: "terminated",
      startedMs,
      finishedMs: startedMs + 900,
      exitCode: 1,
    } as const;
    return status(startedMs + 1_000, { state });
  });
  const items = lanesOf(entries, 5_000_000)("container-main");
  expect(items).toHaveLength(500);
  const drawn = drawItems(items, { startMs: 0, endMs: 5_000_000, width: 1_000 });
  expect(drawn.length).toBeLessThanOrEqual(250);
  expect(drawn.reduce((sum, { count }) => sum + count, 0)).toBe(500);
  const zoomed = drawItems(items, { startMs: 0, endMs: 100_000, width: 1_000 });
  expect(zoomed.map(({ count }) => count)).toEqual(Array.from({ length: zoomed.length }, () => 1));
});
