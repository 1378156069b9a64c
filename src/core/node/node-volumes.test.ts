import { describe, expect, test } from "vitest";
import type { Node } from "../../model/generated/kubernetes.ts";
import { attachedVolumes, hasUnreportedVolume, haveSameAttached } from "./node-volumes.ts";

function nodeWith(...attached: readonly (readonly [string, string])[]): Node {
  return {
    status: { volumesAttached: attached.map(([name, devicePath]) => ({ name, devicePath })) },
  };
}

describe("volumes that are attached according to the node's object", () => {
  test("are device paths by unique name", () => {
    expect([...attachedVolumes(nodeWith(["a", "/dev/a"], ["b", ""]))]).toEqual([
      ["a", "/dev/a"],
      ["b", ""],
    ]);
    expect(attachedVolumes({}).size).toBe(0);
  });

  test("differ in names, in paths, and from those of a node that is not known", () => {
    const node = nodeWith(["a", "/dev/a"], ["b", ""]);
    expect(haveSameAttached(node, nodeWith(["b", ""], ["a", "/dev/a"]))).toBe(true);
    expect(haveSameAttached({}, nodeWith())).toBe(true);
    expect(haveSameAttached(undefined, undefined)).toBe(true);
    expect(haveSameAttached(node, nodeWith(["a", "/dev/a"]))).toBe(false);
    expect(haveSameAttached(node, nodeWith(["a", "/dev/x"], ["b", ""]))).toBe(false);
    expect(haveSameAttached(node, nodeWith(["a", "/dev/a"], ["c", ""]))).toBe(false);
    expect(haveSameAttached(undefined, {})).toBe(false);
    expect(haveSameAttached(node, undefined)).toBe(false);
  });
});

test("a report is urgent when a volume is in use that is not listed, and only then", () => {
  expect(hasUnreportedVolume([], ["a"])).toBe(true);
  expect(hasUnreportedVolume(undefined, ["a"])).toBe(true);
  expect(hasUnreportedVolume(["a"], ["b"])).toBe(true);
  expect(hasUnreportedVolume(["b", "a"], ["a", "b"])).toBe(false);
  expect(hasUnreportedVolume(["a", "b"], ["a"])).toBe(false);
  expect(hasUnreportedVolume(["a"], [])).toBe(false);
  expect(hasUnreportedVolume(["a"], undefined)).toBe(false);
});
