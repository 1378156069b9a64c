import { expect, test } from "vitest";
import { plainPlanFacts } from "../../../test/kit/plan-facts.ts";
import { testPod } from "../../../test/kit/pods.ts";
import type { Decision } from "../../core/record/decision.ts";
import { SimJournal } from "../../drivers/sim/sim-journal.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import { hasFiles } from "../pods/pod-memory.ts";
import { PodTable } from "../pods/pod-table.ts";
import { FlightRecorder } from "./flight-recorder.ts";

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
  const recorder = new FlightRecorder(new PodTable(), new SimJournal());
  recorder.noteDecision(planAt(1, 0));
  for (let atMs = 2; atMs < 1000; atMs++) recorder.noteDecision(planAt(atMs, 1));
  expect(timesOf(recorder, podUid("uid-1"))).toEqual([1, 999]);
});

test("only the last decisions of a pod are kept, until it is forgotten", async () => {
  const recorder = new FlightRecorder(new PodTable(), new SimJournal());
  for (let atMs = 1; atMs <= 100; atMs++) recorder.noteDecision(planAt(atMs, atMs));
  expect(timesOf(recorder, podUid("uid-1"))).toHaveLength(60);
  expect(timesOf(recorder, podUid("uid-1")).at(-1)).toBe(100);
  await recorder.remove(podUid("uid-1"));
  expect(timesOf(recorder)).toEqual([]);
});

test("the decisions about all pods come in the order they were made", () => {
  const recorder = new FlightRecorder(new PodTable(), new SimJournal());
  for (const atMs of [1, 2, 3, 4]) recorder.noteDecision(planAt(atMs, atMs, `uid-${atMs % 2}`));
  expect(timesOf(recorder)).toEqual([1, 2, 3, 4]);
  expect(timesOf(recorder, podUid("uid-1"))).toEqual([1, 3]);
});

test("a history that the agent before left is known as a file of the pod until it is removed", async () => {
  const journal = new SimJournal();
  journal.append("uid-1", { startedAtMs: 1, steps: [] });
  const table = new PodTable();
  const recorder = new FlightRecorder(table, journal);
  await recorder.load();
  const pod = table.get(podUid("uid-1"));
  expect(pod !== undefined && hasFiles(pod)).toBe(true);
  recorder.noteDecision(planAt(1, 0));
  expect(pod !== undefined && hasFiles(pod)).toBe(true);
  await recorder.remove(podUid("uid-1"));
  expect(pod !== undefined && hasFiles(pod)).toBe(false);
  expect(journal.keys).toEqual([]);
});
