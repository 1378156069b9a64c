import { describe, expect, it } from "vitest";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

const keys = { conditions: "type" };

describe("strategicMergePatch", () => {
  it("is nothing between equal objects, whatever their order", () => {
    expect(strategicMergePatch({ a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }, keys)).toBe(
      undefined,
    );
  });

  it("takes an absent field and an undefined one for the same", () => {
    expect(strategicMergePatch({ a: 1 }, { a: 1, b: undefined }, keys)).toBe(undefined);
  });

  it("removes with null and goes into objects", () => {
    expect(strategicMergePatch({ a: 1, b: { c: 1, d: 2 } }, { b: { c: 3, d: 2 } }, keys)).toEqual({
      a: null,
      b: { c: 3 },
    });
  });

  it("changes keyed lists by element and keeps their order", () => {
    const before = {
      conditions: [
        { type: "Ready", status: "False", reason: "x" },
        { type: "Old", status: "True" },
      ],
    };
    const after = {
      conditions: [
        { type: "New", status: "True" },
        { type: "Ready", status: "True" },
      ],
    };
    expect(strategicMergePatch(before, after, keys)).toEqual({
      "$setElementOrder/conditions": [{ type: "New" }, { type: "Ready" }],
      conditions: [
        { type: "New", status: "True" },
        { status: "True", reason: null, type: "Ready" },
        { $patch: "delete", type: "Old" },
      ],
    });
  });

  it("leaves equal lists alone, also where elements share a key", () => {
    const list = {
      conditions: [
        { type: "A", status: "1" },
        { type: "A", status: "2" },
      ],
    };
    expect(strategicMergePatch(list, structuredClone(list), keys)).toBe(undefined);
  });

  it("replaces other lists as a whole", () => {
    expect(strategicMergePatch({ items: [{ a: 1 }] }, { items: [{ a: 2 }] }, keys)).toEqual({
      items: [{ a: 2 }],
    });
  });
});
