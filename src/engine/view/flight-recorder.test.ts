import { expect, test } from "vitest";
import { plainPlanFacts } from "../../../test/kit/plan-facts.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import type { Decision } from "../../core/record/decision.ts";
import { SimHistory } from "../../drivers/sim/sim-history.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { SyncRecord } from "../../ports/sync-record.ts";
import { PodTable } from "../pods/pod-table.ts";
import { FlightRecorder } from "./flight-recorder.ts";

const uid1 = podUid("uid-1");
const { signal } = new AbortController();

function newRecorder(store = new SimHistory()): FlightRecorder {
  const table = new PodTable();
  return new FlightRecorder(table, testHistory(table, store));
}

function planAt(atMs: number, sandboxAttempt: number, uid = "uid-1"): Decision {
  const pod = testPod({ containers: [{ name: "main" }] });
  const input = {
    pod: { ...pod, metadata: { ...pod.metadata, uid: podUid(uid) } },
    observed: emptyObservedPod(podUid(uid), "web", "default"),
    livenessResults: new Map(),
    startupResults: new Map(),
    restartAllContainers: false,
    actuatedResources: { containers: new Map() },
    ...plainPlanFacts,
  };
  return { kind: "plan", atMs, input, outcome: { steps: [], sandboxAttempt } };
}

function timesOf(recorder: FlightRecorder, uid?: PodUid): readonly number[] {
  return recorder.decisions(uid).map(({ atMs }) => atMs);
}

test("a decision that says the same as the one before takes its place: a pod at rest keeps its history", () => {
  const recorder = newRecorder();
  recorder.noteDecision(planAt(1, 0));
  for (let atMs = 2; atMs < 1000; atMs++) recorder.noteDecision(planAt(atMs, 1));
  expect(timesOf(recorder, podUid("uid-1"))).toEqual([1, 999]);
});

test("only the last decisions of a pod are kept, until it is forgotten", () => {
  const recorder = newRecorder();
  for (let atMs = 1; atMs <= 100; atMs++) recorder.noteDecision(planAt(atMs, atMs));
  expect(timesOf(recorder, podUid("uid-1"))).toHaveLength(60);
  expect(timesOf(recorder, podUid("uid-1")).at(-1)).toBe(100);
  recorder.forget(podUid("uid-1"));
  expect(timesOf(recorder)).toEqual([]);
});

test("the decisions about all pods come in the order they were made", () => {
  const recorder = newRecorder();
  for (const atMs of [1, 2, 3, 4]) recorder.noteDecision(planAt(atMs, atMs, `uid-${atMs % 2}`));
  expect(timesOf(recorder)).toEqual([1, 2, 3, 4]);
  expect(timesOf(recorder, podUid("uid-1"))).toEqual([1, 3]);
});

function syncAt(startedAtMs: number): SyncRecord {
  const action = `start container ${startedAtMs}`;
  const step = { action, because: "it is wanted", outcome: "done", durationMs: 1 } as const;
  const pod = "default/web";
  return { podUid: uid1, pod, kind: "sync", startedAtMs, durationMs: 1, steps: [step] };
}

test("syncs that agents before this one recorded are listed behind its own, newest first", async () => {
  const store = new SimHistory();
  const before = newRecorder(store);
  for (const atMs of [1, 2, 3]) before.record(syncAt(atMs));
  const recorder = newRecorder(store);
  const times = async () =>
    (await recorder.list(uid1, signal)).map(({ startedAtMs }) => startedAtMs);
  recorder.record(syncAt(4));
  expect(await times()).toEqual([4, 3, 2, 1]);
  for (let atMs = 5; atMs <= 32; atMs++) recorder.record(syncAt(atMs));
  expect(await times()).toEqual(Array.from({ length: 30 }, (_, index) => 32 - index));
});

test("the syncs of an earlier life under the same UID are not among them", async () => {
  const store = new SimHistory();
  newRecorder(store).record(syncAt(1));
  store.append({ kind: "gone", atMs: 2, uid: uid1, pod: "default/web" });
  newRecorder(store).record(syncAt(3));
  const listed = await newRecorder(store).list(uid1, signal);
  expect(listed).toEqual([syncAt(3)]);
});

test("those who watch get each new sync, and a repeated one only once", () => {
  const recorder = newRecorder();
  const stopping = new AbortController();
  const seen: number[] = [];
  recorder.watch(({ startedAtMs }) => seen.push(startedAtMs), stopping.signal);
  const sync = (startedAtMs: number, action: string): SyncRecord => ({
    podUid: uid1,
    pod: "default/web",
    kind: "sync",
    startedAtMs,
    durationMs: 1,
    steps: [{ action, because: "it has to", outcome: "done", durationMs: 1 }],
  });
  recorder.record(sync(1, "start"));
  recorder.record(sync(2, "start"));
  recorder.record(sync(3, "stop"));
  stopping.abort();
  recorder.record(sync(4, "start"));
  expect(seen).toEqual([1, 3]);
});
