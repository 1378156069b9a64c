import { describe, expect, test } from "vitest";
import { runningContainer } from "../../../test/kit/carry-out.ts";
import { containerId, podUid } from "../../model/ids.ts";
import {
  emptyObservedPod,
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
} from "../../model/observed.ts";
import { leftoversLast, leftoversOf, standingsOf, withoutLeftovers } from "./classify-pod.ts";

function sandbox(id: string, state: ObservedSandbox["state"] = "ready"): ObservedSandbox {
  return { id, state, attempt: 0, createdAtMs: 0, network: "pod" };
}

function instance(
  id: string,
  state: ObservedContainer["state"],
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  return {
    ...runningContainer({ name: "web", image: "web:1" }),
    id: containerId(id),
    state,
    ...more,
  };
}

function podOf(
  sandboxes: readonly ObservedSandbox[],
  containers: readonly ObservedContainer[] = [],
): ObservedPod {
  return { ...emptyObservedPod(podUid("uid"), "web", "default"), sandboxes, containers };
}

const inUse = { sandboxId: "used" };

describe("sandboxes", () => {
  test.each([
    {
      title: "an unused one beside the one in use is a leftover",
      pod: podOf(
        [sandbox("late"), sandbox("used")],
        [instance("1", "running", inUse), instance("2", "exited", { sandboxId: "late" })],
      ),
      standings: { late: "leftover", used: "current" },
    },
    {
      title: "none of several unused ones is: which one the pod will run in is not decided",
      pod: podOf([sandbox("one"), sandbox("two")]),
      standings: { one: "current", two: "superseded" },
    },
    {
      title: "none of several in use is",
      pod: podOf(
        [sandbox("used"), sandbox("two")],
        [instance("1", "running", inUse), instance("2", "created", { sandboxId: "two" })],
      ),
      standings: { used: "current", two: "superseded" },
    },
    {
      title: "none that is not ready is",
      pod: podOf([sandbox("used"), sandbox("old", "notReady")], [instance("1", "running", inUse)]),
      standings: { used: "current", old: "superseded" },
    },
    {
      title: "an unused one beside a newer one that is not ready any more is a leftover",
      pod: podOf([sandbox("used", "notReady"), sandbox("late")], [instance("1", "exited", inUse)]),
      standings: { used: "current", late: "leftover" },
    },
    {
      title: "an empty one beside the one whose containers wait to start again is a leftover",
      pod: podOf([sandbox("late"), sandbox("used")], [instance("1", "exited", inUse)]),
      standings: { late: "leftover", used: "current" },
    },
    {
      title: "an empty one that has ended is a leftover though it is newer than the one in use",
      pod: podOf([sandbox("late", "notReady"), sandbox("used")], [instance("1", "running", inUse)]),
      standings: { late: "leftover", used: "current" },
    },
  ])("$title", ({ pod, standings }) => {
    const found = standingsOf(pod);
    expect(Object.fromEntries(pod.sandboxes.map(({ id }) => [id, found.get(id)]))).toEqual(
      standings,
    );
  });
});

describe("containers", () => {
  test.each([
    { state: "created", count: 0, other: { state: "running", count: 1 }, is: "leftover" },
    { state: "created", count: 0, other: { state: "exited", count: 1 }, is: "leftover" },
    { state: "created", count: 2, other: { state: "running", count: 1 }, is: "leftover" },
    { state: "created", count: 2, other: { state: "exited", count: 1 }, is: "current" },
    { state: "exited", count: 0, other: { state: "running", count: 1 }, is: "current" },
  ] as const)("$state $count beside $other.state $other.count: $is", (row) => {
    const late = instance("late", row.state, { restartCount: row.count });
    const other = instance("other", row.other.state, { restartCount: row.other.count });
    expect(standingsOf(podOf([], [late, other])).get("late")).toBe(row.is);
  });

  test("a created one with another name is not a leftover", () => {
    const late = instance("late", "created");
    const other = instance("other", "running", { name: "db", restartCount: 1 });
    expect(standingsOf(podOf([], [late, other])).get("late")).toBe("current");
  });

  test("earlier runs are superseded", () => {
    const standings = standingsOf(podOf([], [instance("2", "running"), instance("1", "exited")]));
    expect([...standings]).toEqual([
      ["2", "current"],
      ["1", "superseded"],
    ]);
  });
});

test("leftovers come last, are left out together, and are found alone", () => {
  const sandboxes = [sandbox("late"), sandbox("used")];
  const containers = [
    instance("created-late", "created", { sandboxId: "used" }),
    instance("runs", "running", inUse),
  ];
  const pod = { ...podOf([]), ...leftoversLast(sandboxes, containers) };
  const idsOf = (part: Pick<ObservedPod, "sandboxes" | "containers">): string[] =>
    [...part.sandboxes, ...part.containers].map(({ id }) => id);
  expect(idsOf(pod)).toEqual(["used", "late", "runs", "created-late"]);
  expect(idsOf(withoutLeftovers(pod))).toEqual(["used", "runs"]);
  expect(idsOf(leftoversOf(pod))).toEqual(["late", "created-late"]);
});
