import { expect, test } from "vitest";
import type { NodeSelectorTerm } from "../../model/generated/kubernetes.ts";
import { volumeNodeAffinityProblem } from "./volume-node-affinity.ts";

const labels = { zone: "a", generation: "3" };

function problem(...nodeSelectorTerms: readonly NodeSelectorTerm[]): string | undefined {
  return volumeNodeAffinityProblem(
    { spec: { nodeAffinity: { required: { nodeSelectorTerms } } } },
    labels,
  );
}

test("a volume that asks for no node may be mounted on any, one that asks for none in particular on none", () => {
  expect(volumeNodeAffinityProblem({}, labels)).toBeUndefined();
  expect(problem()).toBe("no matching NodeSelectorTerms");
  expect(problem({})).toBe("no matching NodeSelectorTerms");
});

test("one term that is met is enough, whatever is wrong with others", () => {
  const met = { matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }] };
  const wrong = { matchExpressions: [{ key: "zone", operator: "Near", values: ["a"] }] };
  expect(problem(met, wrong)).toBeUndefined();
  expect(problem(wrong)).toContain('operator: Unsupported value: "Near"');
});

test("every mistake is named by its field", () => {
  expect(
    problem({
      matchExpressions: [
        { key: "generation", operator: "Gt", values: ["new", "2"] },
        { key: "zone", operator: "In", values: ["a b"] },
      ],
      matchFields: [{ key: "metadata.name", operator: "In", values: [] }],
    })?.split(", nodeSelectorTerms"),
  ).toEqual([
    `[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: ["new","2"]: for 'Gt', 'Lt' operators, exactly one value is required`,
    `[0].matchExpressions[0].values[0]: Invalid value: "new": for 'Gt', 'Lt' operators, the value must be an integer`,
    expect.stringContaining(`[0].matchExpressions[1].values[0][zone]: Invalid value: "a b": `),
    "[0].matchFields[0].values: Invalid value: null: must have one element]",
  ]);
});
