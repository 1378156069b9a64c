import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { forgetPods } from "./forget-pods.ts";
import { PodRegistry } from "./pod-registry.ts";
import { PodTable } from "./pod-table.ts";

const nowhere = { has: () => false };

/** Pods whose removal is done. */
function removedPods(...uids: readonly string[]): PodTable {
  const table = new PodTable();
  const removals = table.writer("removal");
  for (const uid of uids) removals.set(podUid(uid), { state: "done" });
  return table;
}

function uidsOf(table: PodTable): readonly string[] {
  return [...table.all()].map(({ uid }) => uid);
}

test("pods of which nothing is left are forgotten, the others stay", () => {
  const table = removedPods("wanted", "gone", "being-read", "in-runtime", "recorded", "also-gone");
  new PodRegistry(table).set(buildPod({ metadata: { uid: "wanted" } }));
  const running = { again: false, done: Promise.resolve() };
  table.writer("reading").set(podUid("being-read"), { running });
  table.writer("records").set(podUid("recorded"), {
    syncs: [
      {
        podUid: podUid("recorded"),
        pod: "default/web",
        kind: "sync",
        startedAtMs: 0,
        durationMs: 0,
        seen: [],
        steps: [],
      },
    ],
    decisions: [],
  });
  forgetPods({
    table,
    observed: { has: (uid) => uid === "in-runtime" },
  });
  expect(uidsOf(table)).toEqual(["wanted", "being-read", "in-runtime", "recorded"]);
});

test("decisions are in memory alone, and go with the pod", () => {
  const table = removedPods("uid-a");
  table.writer("records").set(podUid("uid-a"), { syncs: [], decisions: [] });
  forgetPods({ table, observed: nowhere });
  expect(uidsOf(table)).toEqual([]);
});

test("a pod is not forgotten before its removal has begun", () => {
  const table = new PodTable();
  table.writer("events").set(podUid("uid-a"), []);
  forgetPods({ table, observed: nowhere });
  expect(uidsOf(table)).toEqual(["uid-a"]);
});
