import { describe, expect, test } from "vitest";
import { nodePatchSchema, podPatchSchema } from "./patch-schemas.ts";
import { strategicDiff } from "./strategic-diff.ts";

const condition = (type: string, status: string, reason = "R"): object => ({
  type,
  status,
  reason,
});

describe("the strategic merge patch of two objects", () => {
  test("is empty for equal objects, whether a field is absent or undefined", () => {
    const node = { status: { conditions: [condition("Ready", "True")], phase: undefined } };
    expect(
      strategicDiff(
        node,
        { status: { conditions: [condition("Ready", "True")] } },
        nodePatchSchema,
      ),
    ).toEqual({});
  });

  test("names only what changed of a keyed element, and the order of all", () => {
    const before = { status: { conditions: [condition("A", "True"), condition("B", "True")] } };
    const after = { status: { conditions: [condition("A", "True"), condition("B", "False")] } };
    expect(strategicDiff(before, after, nodePatchSchema)).toEqual({
      status: {
        "$setElementOrder/conditions": [{ type: "A" }, { type: "B" }],
        conditions: [{ type: "B", status: "False" }],
      },
    });
  });

  test("removes fields with null and keyed elements with a directive, additions first", () => {
    const before = { status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }] } };
    const after = { status: { podIPs: [{ ip: "10.0.0.2" }] } };
    expect(strategicDiff(before, after, podPatchSchema)).toEqual({
      status: {
        phase: null,
        "$setElementOrder/podIPs": [{ ip: "10.0.0.2" }],
        podIPs: [{ ip: "10.0.0.2" }, { $patch: "delete", ip: "10.0.0.1" }],
      },
    });
  });

  test("sends only the order when nothing but the order changed", () => {
    const before = { status: { conditions: [condition("A", "True"), condition("B", "True")] } };
    const after = { status: { conditions: [condition("B", "True"), condition("A", "True")] } };
    expect(strategicDiff(before, after, podPatchSchema)).toEqual({
      status: { "$setElementOrder/conditions": [{ type: "B" }, { type: "A" }] },
    });
  });

  test("takes a list that had no element as a whole", () => {
    const after = { status: { conditions: [condition("A", "True")] } };
    expect(strategicDiff({ status: { conditions: [] } }, after, podPatchSchema)).toEqual(after);
  });

  test("adds to and deletes from lists of plain values", () => {
    const before = { metadata: { finalizers: ["a", "b"] } };
    const after = { metadata: { finalizers: ["b", "c"] } };
    expect(strategicDiff(before, after, podPatchSchema)).toEqual({
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["b", "c"],
        finalizers: ["c"],
      },
    });
  });

  test("replaces lists that do not merge", () => {
    const before = { status: { images: [{ names: ["a"] }] } };
    const after = { status: { images: [{ names: ["b"] }] } };
    expect(strategicDiff(before, after, nodePatchSchema)).toEqual(after);
  });
});
