import { expect, test } from "vitest";
import type { NodeSelectorTerm } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import { matchesNode } from "./node-affinity.ts";

const labels = { zone: "a", cores: "8" };

function matches(...nodeSelectorTerms: readonly NodeSelectorTerm[]): boolean {
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  const spec = { containers: [], affinity: { nodeAffinity: required } };
  const metadata = { name: "p", namespace: "ns", uid: podUid("u") };
  return matchesNode({ metadata, spec }, "node-a", labels);
}

test.each([
  [{ key: "zone", operator: "In", values: ["a", "b"] }, true],
  [{ key: "rack", operator: "NotIn", values: ["1"] }, true],
  [{ key: "zone", operator: "Exists" }, true],
  [{ key: "zone", operator: "DoesNotExist" }, false],
  [{ key: "cores", operator: "Gt", values: ["4"] }, true],
  [{ key: "cores", operator: "Lt", values: ["4"] }, false],
  [{ key: "zone", operator: "Gt", values: ["4"] }, false],
  [{ key: "cores", operator: "Gt", values: ["many"] }, false],
  [{ key: "zone", operator: "In", values: [] }, false],
  [{ key: "zone", operator: "Exists", values: ["a"] }, false],
  [{ key: "bad key", operator: "DoesNotExist" }, false],
  [{ key: "zone", operator: "Like", values: ["a"] }, false],
])("the requirement %j is met: %s", (requirement, isMet) => {
  expect(matches({ matchExpressions: [requirement] })).toBe(isMet);
});

test.each([
  [{ key: "metadata.name", operator: "In", values: ["node-a"] }, true],
  [{ key: "metadata.name", operator: "NotIn", values: ["node-a"] }, false],
  [{ key: "metadata.uid", operator: "NotIn", values: ["x"] }, true],
  [{ key: "metadata.name", operator: "In", values: ["node-a", "node-b"] }, false],
  [{ key: "metadata.name", operator: "Exists" }, false],
])("the field requirement %j is met: %s", (requirement, isMet) => {
  expect(matches({ matchFields: [requirement] })).toBe(isMet);
});

test("one term is enough, and an empty term matches nothing", () => {
  const met = { matchExpressions: [{ key: "zone", operator: "Exists" }] };
  expect(matches({}, met)).toBe(true);
  expect(matches({})).toBe(false);
  expect(matches()).toBe(false);
});
