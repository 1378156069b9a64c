import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import {
  classMemory,
  classMemoryFiles,
  containerMemoryFiles,
  type MemoryQos,
  podMemoryFiles,
} from "./memory-qos.ts";

const plain: MemoryQos = { reservesRequests: false, throttlingFactor: 0.9, reservedBytes: 0n };
const reserving: MemoryQos = { ...plain, reservesRequests: true };
const mebibyte = 2 ** 20;

function podAsking(resources: ResourceRequirements): Pod {
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "u" },
    spec: { containers: [{ name: "c", resources }] },
  });
}

function filesOf(resources: ResourceRequirements, memoryQos: MemoryQos, machineMebibytes = 1000) {
  const pod = podAsking(resources);
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error("the pod has no container");
  return containerMemoryFiles(pod, container, memoryQos, machineMebibytes * mebibyte);
}

const both = { cpu: "1", memory: "100Mi" };
const guaranteed = { requests: both, limits: both };
const burstable = { requests: { memory: "100Mi" }, limits: { memory: "200Mi" } };
const unlimited = { requests: { memory: "100Mi" } };
const nothingKept = { "memory.min": "0", "memory.low": "0" };

test("a container is slowed down before it reaches its limit, at a whole page", () => {
  expect(filesOf(burstable, plain)).toEqual({
    ...nothingKept,
    "memory.high": String(190 * mebibyte),
  });
  expect(filesOf(burstable, { ...plain, throttlingFactor: 0.33 })["memory.high"]).toBe("139460608");
});

test("a container without a limit is slowed down before it takes all that pods may have", () => {
  const reservedBytes = BigInt(100 * mebibyte);
  expect(filesOf(unlimited, { ...plain, reservedBytes })["memory.high"]).toBe(
    String(820 * mebibyte),
  );
  expect(filesOf(unlimited, plain, 50)).toEqual(nothingKept);
  expect(filesOf(unlimited, { ...plain, reservedBytes }, 50)).toEqual(nothingKept);
});

test("a container that gets what it requests, or requests nothing, is not slowed down", () => {
  expect(filesOf(guaranteed, plain)).toEqual(nothingKept);
  expect(filesOf({}, plain)).toEqual(nothingKept);
});

test("requests of Guaranteed pods are kept, those of others are taken last", () => {
  const requested = String(100 * mebibyte);
  expect(filesOf(guaranteed, reserving)).toEqual({ "memory.min": requested });
  expect(filesOf(burstable, reserving)).toMatchObject({ "memory.low": requested });
  expect(filesOf({}, reserving)).toEqual(nothingKept);
  expect(podMemoryFiles(podAsking(guaranteed), reserving)).toEqual({ "memory.min": requested });
  expect(podMemoryFiles(podAsking(burstable), reserving)).toEqual({ "memory.low": requested });
  expect(podMemoryFiles(podAsking({}), reserving)).toBeUndefined();
  expect(podMemoryFiles(podAsking(guaranteed), plain)).toBeUndefined();
});

test("the cgroups above pods keep what those in them keep", () => {
  const pods = [guaranteed, burstable, unlimited, {}].map(podAsking);
  const memory = classMemory(pods, reserving);
  expect(memory).toEqual({
    guaranteedBytes: BigInt(100 * mebibyte),
    burstableBytes: BigInt(200 * mebibyte),
  });
  expect(classMemoryFiles(memory)).toEqual({
    root: { "memory.min": String(300 * mebibyte) },
    burstable: { "memory.low": String(200 * mebibyte) },
  });
});

test("without reservations the cgroups above pods keep nothing, whatever they kept before", () => {
  expect(classMemoryFiles(classMemory([podAsking(guaranteed)], plain))).toEqual({
    root: { "memory.min": "0" },
    burstable: { "memory.low": "0" },
  });
});
