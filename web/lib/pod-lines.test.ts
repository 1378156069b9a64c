import { expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { testPod } from "../../test/kit/pods.ts";
import { filterLines, isProblem, lineOfMoment, lineOfPod, sortLines } from "./pod-lines.ts";

const nowMs = Date.parse("2026-01-01T00:10:00Z");

function pod(name: string, ready: boolean, restartCount = 0, waiting = ""): Pod {
  const base = testPod({ containers: [{ name: "main", image: "example.com/app:1" }] });
  const state = waiting === "" ? { running: {} } : { waiting: { reason: waiting } };
  const status = { name: "main", ready, restartCount, state, image: "", imageID: "" };
  return {
    ...base,
    metadata: {
      ...base.metadata,
      name,
      labels: { app: name.split("-")[0] ?? "" },
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    status: { phase: "Running", containerStatuses: [status] },
  };
}

const lines = [
  pod("web-10", true),
  pod("web-2", true, 3),
  pod("crash-1", false, 7, "CrashLoopBackOff"),
  pod("slow-1", false),
].map((each) => lineOfPod(each, nowMs));

function names(found: readonly { readonly name: string }[]): readonly string[] {
  return found.map(({ name }) => name);
}

test("names are sorted with their numbers by value", () => {
  const order = { by: "name", isDescending: false } as const;
  expect(names(sortLines(lines, order))).toEqual(["crash-1", "slow-1", "web-2", "web-10"]);
});

test("by status, what is broken comes first, then what is not ready", () => {
  const order = { by: "status", isDescending: false } as const;
  expect(names(sortLines(lines, order)).slice(0, 2)).toEqual(["crash-1", "slow-1"]);
});

test("restarts are sorted as numbers", () => {
  const order = { by: "restarts", isDescending: true } as const;
  expect(names(sortLines(lines, order)).slice(0, 2)).toEqual(["crash-1", "web-2"]);
});

test("a pod that runs and is not ready is a problem", () => {
  expect(names(lines.filter(isProblem))).toEqual(["crash-1", "slow-1"]);
});

test.each([
  { search: "crashloop", found: ["crash-1"] },
  { search: "app=web", found: ["web-10", "web-2"] },
  { search: "EXAMPLE.com/app web-2", found: ["web-2"] },
  { search: "nothing", found: [] },
])("a search for $search finds $found", ({ search, found }) => {
  const filter = { search, namespace: "", onlyProblems: false };
  expect(names(filterLines(lines, filter))).toEqual(found);
});

test("a pod of the past has the age that it had then", () => {
  const line = lineOfMoment(
    {
      kind: "status",
      atMs: nowMs,
      uid: lines[0]?.uid as never,
      pod: "default/web",
      ready: "1/1",
      status: "Running",
      restarts: 2,
      phase: "Running",
      createdMs: nowMs - 60_000,
      containers: [],
      conditions: [],
    },
    nowMs,
  );
  expect(line).toMatchObject({ namespace: "default", name: "web", age: "60s", tone: "good" });
});
