import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { coalesceUpdates } from "./coalesce-updates.ts";
import type { SourceUpdate } from "./merge-source.ts";

function update(op: SourceUpdate["op"], uid: string, version = 1): SourceUpdate {
  const pod: Pod = buildPod({
    metadata: { name: uid, namespace: "ns", uid, generation: version },
    spec: { containers: [] },
  });
  return { op, source: "file", pods: [pod] };
}

function essence(updates: readonly SourceUpdate[]): readonly string[] {
  return updates.flatMap(({ op, pods }) =>
    pods.map(({ metadata }) => `${op} ${metadata.uid} ${metadata.generation}`),
  );
}

test.each([
  { ops: ["ADD", "UPDATE", "UPDATE"], left: ["ADD a 3"] },
  { ops: ["UPDATE", "RECONCILE"], left: ["UPDATE a 2"] },
  { ops: ["RECONCILE", "UPDATE"], left: ["UPDATE a 2"] },
  { ops: ["DELETE", "UPDATE"], left: ["DELETE a 2"] },
  { ops: ["UPDATE", "REMOVE"], left: ["REMOVE a 2"] },
  { ops: ["REMOVE", "ADD", "UPDATE"], left: ["REMOVE a 1", "ADD a 3"] },
  { ops: ["REMOVE", "ADD", "REMOVE", "ADD"], left: ["REMOVE a 1", "ADD a 4"] },
  { ops: ["ADD", "UPDATE", "REMOVE"], left: [] },
] as const)("$ops become $left", ({ ops, left }) => {
  const updates = ops.map((op, index) => update(op, "a", index + 1));
  expect(essence(coalesceUpdates(updates))).toEqual(left);
});

test("thousands of updates of a few pods become a few, and a source stays ready", () => {
  const updates = Array.from({ length: 5000 }, (_, index) =>
    update("UPDATE", `pod-${index % 3}`, index),
  );
  expect(essence(coalesceUpdates(updates))).toHaveLength(3);
  const goneAgain = [update("ADD", "a"), update("REMOVE", "a")];
  expect(coalesceUpdates(goneAgain)).toEqual([{ op: "ADD", source: "file", pods: [] }]);
});
