import { describe, expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import {
  type PodFacts,
  type WaitReason,
  type WorkerFacts,
  waitText,
  whyWait,
} from "./start-gate.ts";

function waiting(arrival: number, worker: Partial<WorkerFacts> = {}): WorkerFacts {
  return { state: "wait-to-start", hasBegun: false, isStatic: false, arrival, ...worker };
}

function facts(uid: string, of: Partial<PodFacts> = {}): PodFacts {
  return {
    uid: podUid(uid),
    fullName: "web_default",
    runtime: "nothing-runs",
    isBeingRemoved: false,
    roomFrom: [],
    awaitsDevices: false,
    ...of,
  };
}

const pod = facts("new", { worker: waiting(2) });
const staticPod = facts("new", { worker: waiting(2, { isStatic: true }) });

test("a pod starts when nothing stands in its way, itself and pods of other names included", () => {
  const running = facts("other", { fullName: "db_default", runtime: "running" });
  expect(whyWait(pod, [])).toBeUndefined();
  expect(whyWait(pod, [{ ...pod, runtime: "running" }, running])).toBeUndefined();
});

test("what its former life left is removed first, also for a pod that must end", () => {
  expect(whyWait({ ...pod, isBeingRemoved: true }, [])).toEqual({ kind: "removal" });
  const ending = facts("new", {
    isBeingRemoved: true,
    worker: waiting(2, { state: "terminating" }),
  });
  expect(whyWait(ending, [])).toEqual({ kind: "removal" });
});

test("a pod that must end does not wait for room, names or turns", () => {
  const ending = facts("new", { worker: waiting(2, { state: "terminating" }), roomFrom: ["a/b"] });
  expect(whyWait(ending, [facts("old", { runtime: "running" })])).toBeUndefined();
});

test("a pod waits until those that make room for it have ended", () => {
  const reason = { kind: "room", pods: ["a/b", "a/c"] };
  expect(whyWait({ ...pod, roomFrom: ["a/b", "a/c"] }, [])).toEqual(reason);
});

describe("another pod of its name", () => {
  const begun = { hasBegun: true, arrival: 1, isStatic: false } as const;
  test.each([
    { other: facts("old", { runtime: "running" }), kept: "runs" },
    { other: facts("old", { runtime: "unread" }), kept: "unread" },
    { other: facts("old", { worker: { ...begun, state: "syncing" } }), kept: "runs" },
    { other: facts("old", { worker: { ...begun, state: "terminating" } }), kept: "ends" },
    {
      other: facts("old", { runtime: "running", worker: { ...begun, state: "finished" } }),
      kept: "runs",
    },
    { other: facts("old", { worker: { ...begun, state: "terminated" } }), kept: undefined },
    { other: facts("old", { worker: { ...begun, state: "finished" } }), kept: undefined },
    { other: facts("old", { worker: waiting(1) }), kept: undefined },
    { other: facts("old"), kept: undefined },
  ])("$other.worker.state, $other.runtime in the runtime: $kept", ({ other, kept }) => {
    const wanted = kept === undefined ? undefined : { kind: "name", uid: "old", other: kept };
    expect(whyWait(pod, [other])).toEqual(wanted);
  });
});

describe("static pods of one name", () => {
  const first = facts("first", { worker: waiting(1, { isStatic: true }) });

  test("start in the order in which they came", () => {
    expect(whyWait(staticPod, [first])).toEqual({ kind: "turn", uid: "first" });
    expect(whyWait(first, [staticPod])).toBeUndefined();
  });

  test("wait until one that has begun is cleaned up, not for one that never began", () => {
    const worker = waiting(1, { isStatic: true, state: "terminated" });
    const ended = facts("first", { worker: { ...worker, hasBegun: true } });
    expect(whyWait(staticPod, [ended])).toEqual({ kind: "name", uid: "first", other: "ends" });
    expect(whyWait(staticPod, [{ ...ended, worker }])).toBeUndefined();
  });

  test("know no order with pods of the API server", () => {
    expect(whyWait(pod, [first])).toBeUndefined();
  });

  test("wait for one that runs rather than for one that waits too", () => {
    const running = facts("old", { runtime: "running" });
    expect(whyWait(staticPod, [first, running])).toMatchObject({ kind: "name", uid: "old" });
  });
});

test.each<{ reason: WaitReason; text: string }>([
  {
    reason: { kind: "removal" },
    text: "the removal of what the pod left when it last ended",
  },
  {
    reason: { kind: "room", pods: ["a/b", "a/c"] },
    text: "pods that end to make room: a/b, a/c",
  },
  {
    reason: { kind: "name", uid: podUid("old"), other: "ends" },
    text: "the end of another pod of the same name (UID old), which is ending",
  },
  {
    reason: { kind: "turn", uid: podUid("first") },
    text: "a static pod of the same name that came before (UID first)",
  },
])("$reason.kind is shown as text", ({ reason, text }) => {
  expect(waitText(reason)).toBe(text);
});
