import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { mergeSource } from "./merge-source.ts";

function pod(name: string, uid = name, more: Partial<Pod> = {}): Pod {
  return buildPod({
    metadata: { name, namespace: "ns", uid },
    spec: { containers: [{ name: "c", image: "i" }] },
    ...more,
  });
}

test("the second pod of one full name is rejected with a message that names both", () => {
  const { pods, rejected } = mergeSource(
    undefined,
    { source: "file", pods: [pod("a", "1"), pod("a", "2")] },
    0,
  );
  expect([...pods.keys()]).toEqual(["1"]);
  expect(rejected.map(({ message }) => message)).toEqual([
    'Error validating pod a_ns(2) from file due to duplicate pod name "a", ignoring',
  ]);
});

test("the first-seen time is that of the first set, whatever changes later", () => {
  const first = mergeSource(undefined, { source: "api", pods: [pod("a")] }, 0);
  const changed = pod("a", "a", { spec: { containers: [{ name: "c", image: "j" }] } });
  const second = mergeSource(first, { source: "api", pods: [changed] }, 60_000);
  expect(second.updates).toHaveLength(1);
  expect(second.updates[0]).toMatchObject({ op: "UPDATE", pods: [{ spec: changed.spec }] });
  expect(second.updates[0]?.pods[0]?.metadata.annotations).toEqual({
    "kubernetes.io/config.source": "api",
    "kubernetes.io/config.seen": "1970-01-01T00:00:00.000000000Z",
  });
});

test("delivering the same set again changes nothing", () => {
  const set = { source: "file" as const, pods: [pod("a"), pod("b")] };
  const first = mergeSource(undefined, set, 0);
  const second = mergeSource(first, set, 1);
  expect(second.updates).toEqual([]);
  expect(second.pods).toEqual(first.pods);
  const third = mergeSource(second, { source: "file", pods: structuredClone(set.pods) }, 2);
  expect(third.updates).toEqual([]);
  expect(third.pods).toEqual(first.pods);
});
