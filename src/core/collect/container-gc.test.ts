import { expect, test } from "vitest";
import { type PodSandbox, PodSandboxState } from "../../model/generated/cri.ts";
import { planContainerGc, planLogsGc, planSandboxGc, type RemovablePods } from "./container-gc.ts";

const noneGone: RemovablePods = {
  isContentRemovable: () => false,
  isRuntimeRemovable: () => false,
  areLogsRemovable: () => false,
};
const gone: RemovablePods = {
  ...noneGone,
  isContentRemovable: (uid) => uid === "gone",
  areLogsRemovable: (uid) => uid === "gone",
};

function sandbox(id: string, uid: string, createdAt: bigint, ready = false): PodSandbox {
  const state = ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
  return { id, metadata: { uid }, createdAt, state };
}

test("the newest sandbox of a pod that exists stays", () => {
  const sandboxes = [sandbox("old", "u", 1n), sandbox("new", "u", 2n)];
  const removals = planSandboxGc(sandboxes, [], noneGone, { evictNonDeletedPods: false });
  expect(removals).toMatchObject([
    { id: "old", because: "it is stopped and empty, and its pod has a newer one" },
  ]);
});

test("all dead and empty sandboxes of a gone pod go, oldest first", () => {
  const sandboxes = [
    sandbox("ready", "gone", 4n, true),
    sandbox("b", "gone", 3n),
    sandbox("used", "gone", 2n),
    sandbox("a", "gone", 1n),
  ];
  const removed = planSandboxGc(sandboxes, [{ id: "c", podSandboxId: "used" }], gone, {
    evictNonDeletedPods: false,
  });
  expect(removed.map(({ id }) => id)).toEqual(["a", "b"]);
});

test("an ended pod keeps its last sandbox until room is needed", () => {
  const ended: RemovablePods = { ...noneGone, isRuntimeRemovable: () => true };
  const sandboxes = [sandbox("a", "u", 1n)];
  expect(planSandboxGc(sandboxes, [], ended, { evictNonDeletedPods: false })).toEqual([]);
  expect(planSandboxGc(sandboxes, [], ended, { evictNonDeletedPods: true })).toMatchObject([
    { id: "a", because: "its pod has ended" },
  ]);
});

test("log folders of gone pods go", () => {
  expect(planLogsGc(["ns_a_gone", "ns_b_here", "gone"], gone)).toEqual(["ns_a_gone", "gone"]);
});

test("nothing is removed where nothing exists, whatever the policy", () => {
  const policy = { minAgeMs: 0, maxPerContainer: 0, maxContainers: 0 };
  const scope = { allSourcesReady: true, evictNonDeletedPods: true, policy, nowMs: 0 };
  expect(planContainerGc([], gone, scope)).toEqual([]);
});
