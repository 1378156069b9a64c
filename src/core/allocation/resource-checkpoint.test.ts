import fc from "fast-check";
import { expect, test } from "vitest";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { PodResources } from "./pod-allocation.ts";
import { encodeResourceCheckpoint, parseResourceCheckpoint } from "./resource-checkpoint.ts";

const pods = new Map<PodUid, PodResources>([
  [podUid("uid-2"), { containers: new Map([["c", { requests: { memory: "1Gi" }, limits: {} }]]) }],
  [
    podUid("uid-1"),
    {
      containers: new Map([
        ["b", {}],
        ["a", { requests: { cpu: "50m" }, limits: { memory: "64Mi", cpu: "0.1" } }],
      ]),
      pod: { requests: { cpu: "1" } },
    },
  ],
]);

// Written by a kubelet.
const kubeletFile = String.raw`{"data":"{\"entries\":{\"uid-1\":{\"ContainerResources\":{\"a\":{\"limits\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"},\"requests\":{\"cpu\":\"50m\"}},\"b\":{}},\"PodLevelResources\":{\"requests\":{\"cpu\":\"1\"}}},\"uid-2\":{\"ContainerResources\":{\"c\":{\"requests\":{\"memory\":\"1Gi\"}}},\"PodLevelResources\":null}}}","checksum":302654259}`;

test("the file is just what a kubelet writes", () => {
  expect(encodeResourceCheckpoint(pods)).toBe(kubeletFile);
});

test("a kubelet's file is read", () => {
  const parsed = parseResourceCheckpoint(kubeletFile);
  expect(parsed).toMatchObject({ ok: true });
  if (!parsed.ok) return;
  expect(encodeResourceCheckpoint(parsed.value)).toBe(kubeletFile);
  expect(parsed.value.get(podUid("uid-1"))?.containers.get("a")?.limits).toEqual({
    cpu: "100m",
    memory: "64Mi",
  });
  expect(parsed.value.get(podUid("uid-2"))?.pod).toBeUndefined();
});

test("a file without pods is read", () => {
  expect(parseResourceCheckpoint(encodeResourceCheckpoint(new Map()))).toEqual({
    ok: true,
    value: new Map(),
  });
});

test.each([
  ["", "Unexpected end"],
  ["{}", "it has no data"],
  [kubeletFile.replace("302654259", "1"), "its checksum does not match"],
  [kubeletFile.replace("50m", "51m"), "its checksum does not match"],
])("a damaged file is refused: %#", (text, problem) => {
  const parsed = parseResourceCheckpoint(text);
  expect(parsed.ok ? "" : parsed.error).toContain(problem);
});

test("a file that was cut off is refused, wherever that was", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: kubeletFile.length - 1 }), (length) => {
      expect(parseResourceCheckpoint(kubeletFile.slice(0, length)).ok).toBe(false);
    }),
  );
});
