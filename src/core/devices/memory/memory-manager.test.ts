import { expect, test } from "vitest";
import { podUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import { resourceList } from "../../resource/resource-list.ts";
import { staleContainers } from "../topology/container-ref.ts";
import { noAffinity } from "../topology/hints.ts";
import { type MemoryManager, startMemoryManager } from "./memory-manager.ts";
import { memoryPolicy } from "./memory-policy.ts";

const gibibyte = 2n ** 30n;

function started(file?: string, memoryBytes = 8n * gibibyte): MemoryManager {
  const nodes = [0, 1].map((id) => ({ id, memoryBytes, hugePages: [], cores: [] }));
  const policy = memoryPolicy(
    {
      policy: "Static",
      nodeReservation: resourceList({ memory: "1Gi" }),
      reservedMemory: [{ numaNode: 0, limits: resourceList({ memory: "1Gi" }) }],
    },
    nodes,
  );
  if (!policy.ok) throw new Error(policy.error);
  const start = { file, filePath: "/state", containers: new Map() };
  const manager = startMemoryManager(policy.value, start);
  if (!manager.ok) throw new Error(manager.error);
  return manager.value;
}

function container(name: string, memory: string) {
  const amounts = { cpu: "1", memory };
  return { name, resources: { requests: amounts, limits: amounts } };
}

function pod(uid: string, memory: string, initMemory?: string): Pod {
  return {
    metadata: { name: uid, namespace: "ns", uid: podUid(uid) },
    spec: {
      containers: [container("c", memory)],
      ...(initMemory === undefined ? {} : { initContainers: [container("init", initMemory)] }),
    },
  };
}

function allocate(manager: MemoryManager, each: Pod) {
  return [...(each.spec.initContainers ?? []), ...each.spec.containers].map((one) =>
    manager.allocate(each, one, noAffinity),
  );
}

function freeBytes(manager: MemoryManager): (bigint | undefined)[] {
  return Array.from(manager.state.machine.values(), ({ tables }) => tables.get("memory")?.free);
}

test("a container keeps its memory over a restart, and the file is written when something changed", () => {
  const manager = started();
  allocate(manager, pod("a", "2Gi"));
  const file = manager.takeCheckpoint();
  expect(manager.takeCheckpoint()).toBeUndefined();
  const again = started(file);
  expect(again.nodesFor({ podUid: "a", container: "c" })).toEqual([0]);
  expect(again.state).toEqual(manager.state);
});

test("a container that is larger than a node gets several, which are not used alone then", () => {
  const manager = started();
  allocate(manager, pod("a", "10Gi"));
  expect(manager.nodesFor({ podUid: "a", container: "c" })).toEqual([0, 1]);
  allocate(manager, pod("b", "1Gi"));
  expect(manager.nodesFor({ podUid: "b", container: "c" })).toEqual([0, 1]);
});

test("memory of an init container is used again, and all of it is free when the pod is gone", () => {
  const manager = started();
  const before = freeBytes(manager);
  allocate(manager, pod("a", "2Gi", "3Gi"));
  expect(freeBytes(manager)).toEqual([4n * gibibyte, 8n * gibibyte]);
  manager.removeStale(staleContainers([]));
  expect(freeBytes(manager)).toEqual(before);
});

test("huge pages of a size that the machine does not have are refused", () => {
  const manager = started();
  const amounts = { cpu: "1", memory: "1Gi", "hugepages-1Gi": "1Gi" };
  const wants = { name: "c", resources: { requests: amounts, limits: amounts } };
  const each = { ...pod("a", "1Gi"), spec: { containers: [wants] } };
  expect(manager.allocate(each, wants, noAffinity)?.message).toContain("no NUMA nodes with enough");
});

test("a machine with other memory than the file says does not start", () => {
  const manager = started();
  const file = manager.takeCheckpoint();
  expect(() => started(file, 4n * gibibyte)).toThrow("different from the real one");
});
