import { expect, test } from "vitest";
import { defaultFeatureGates } from "../config/feature-gates.ts";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import { kubeletMemoryQos, memoryQosWarnings } from "./memory-qos-options.ts";

const on = { ...defaultFeatureGates, resolved: new Map([["MemoryQoS", true]]) };

test("MemoryQoS is off by default", () => {
  expect(kubeletMemoryQos(fileDefaultConfig(), defaultFeatureGates)).toBeUndefined();
  expect(memoryQosWarnings(defaultFeatureGates, 1)).toEqual([]);
});

test("the configuration says what is kept, how early containers are slowed down, and what is not for pods", () => {
  expect(kubeletMemoryQos(fileDefaultConfig(), on)).toEqual({
    reservesRequests: false,
    throttlingFactor: 0.9,
    reservedBytes: 0n,
  });
  const config = {
    ...fileDefaultConfig(),
    memoryReservationPolicy: "TieredReservation",
    memoryThrottlingFactor: 0.5,
    kubeReserved: { memory: "1Ki" },
    systemReserved: { memory: "2Ki", cpu: "1" },
  };
  expect(kubeletMemoryQos(config, on)).toEqual({
    reservesRequests: true,
    throttlingFactor: 0.5,
    reservedBytes: 3072n,
  });
});

test("on cgroup v1 the operator is warned that MemoryQoS has no effect", () => {
  expect(memoryQosWarnings(on, 1)).toEqual([
    "featureGates MemoryQoS=true: it needs cgroup v2, and this machine has cgroup v1",
  ]);
  expect(memoryQosWarnings(on, 2)).toEqual([]);
});
