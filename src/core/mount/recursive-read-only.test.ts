import { expect, test } from "vitest";
import type { VolumeMount } from "../../model/generated/kubernetes.ts";
import { supportsRecursiveReadOnly, wantsRecursiveReadOnly } from "./recursive-read-only.ts";

test("the handler of the pod decides, not the runtime as a whole", () => {
  const known = [
    { name: "", features: { recursiveReadOnlyMounts: true } },
    { name: "vm", features: { recursiveReadOnlyMounts: false } },
    { name: "plain" },
  ];
  const handlers = ["", "vm", "plain", "unknown"];
  expect(handlers.filter((handler) => supportsRecursiveReadOnly(handler, known))).toEqual([""]);
});

test.each([
  [undefined, false],
  ["Disabled", false],
  ["IfPossible", true],
  ["Enabled", true],
])("recursiveReadOnly %s: the runtime must be asked: %s", (recursiveReadOnly, isWanted) => {
  const mount: VolumeMount = { name: "v", mountPath: "/v", readOnly: true, recursiveReadOnly };
  expect(wantsRecursiveReadOnly({ name: "c", volumeMounts: [mount] })).toBe(isWanted);
});
