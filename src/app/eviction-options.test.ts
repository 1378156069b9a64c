import { expect, test } from "vitest";
import { buildPod } from "../../test/kit/pods.ts";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import type { Pod } from "../model/pod.ts";
import { kubeletEviction, parseEviction } from "./eviction-options.ts";

const manifestPod: Pod = buildPod({
  metadata: {
    name: "web",
    namespace: "default",
    uid: "u",
    annotations: { "kubernetes.io/config.source": "file" },
  },
  spec: { containers: [] },
});

test("by default the kubelet's thresholds hold, also for what pods have together", () => {
  const signals = parseEviction().thresholds.thresholds.map(({ signal }) => signal);
  expect(signals.toSorted()).toEqual([
    "allocatableMemory.available",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
  ]);
});

test("a kubelet spares pods from manifests, berth up spares only those of critical priority", () => {
  const { policy } = kubeletEviction(fileDefaultConfig(), { ignoresAllocatable: true });
  expect(policy.isSpared(manifestPod)).toBe(true);
  const { isSpared } = parseEviction().policy;
  expect(isSpared(manifestPod)).toBe(false);
  expect(isSpared({ ...manifestPod, spec: { containers: [], priority: 2_000_000_000 } })).toBe(
    true,
  );
});

test("limits replace the defaults, and none leaves nothing", () => {
  const { thresholds } = parseEviction({ evictionHard: "nodefs.available<5%, pid.available<100" });
  expect(thresholds.thresholds.map(({ signal }) => signal)).toEqual([
    "nodefs.available",
    "pid.available",
  ]);
  expect(parseEviction({ evictionHard: "none" }).thresholds.thresholds).toEqual([]);
});

test.each([
  ["memory.available", '--eviction-hard: "memory.available" is not a limit'],
  ["memory<1Gi", "--eviction-hard: unsupported eviction signal memory"],
  ["memory.available<much", "quantities must match"],
])("%j is refused with the reason", (evictionHard, message) => {
  expect(() => parseEviction({ evictionHard })).toThrow(message);
});

test("thresholds for images that cannot be met are refused by name", () => {
  const config = { ...fileDefaultConfig(), imageGCLowThresholdPercent: 90 };
  expect(() => kubeletEviction(config, { ignoresAllocatable: false })).toThrow(
    "LowThresholdPercent 90 can not be higher than HighThresholdPercent 85",
  );
});
