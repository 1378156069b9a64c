import fc from "fast-check";
import { expect, test } from "vitest";
import { buildPod } from "../../../../test/kit/pods.ts";
import { allocateResponseCodec } from "../../../drivers/device-plugins/allocate-response.ts";
import type { Result } from "../../../lib/result.ts";
import { podUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import { noAffinity, type TopologyHint } from "../topology/hints.ts";
import type { DeviceAnswer, DeviceCall, DeviceSteps } from "./device-calls.ts";
import { DeviceCheckpointEncoder, parseDeviceCheckpoint } from "./device-checkpoint.ts";
import { DeviceManager } from "./device-manager.ts";
import { heldIds } from "./pod-devices.ts";

const resource = "example.com/gpu";

function gpuPod(name: string, count: number): Pod {
  const limits = { [resource]: String(count) };
  return buildPod({
    metadata: { name, namespace: "ns", uid: name },
    spec: { containers: [{ name: "c", resources: { limits, requests: limits } }] },
  });
}

function managerWith(ids: readonly string[], nodes?: readonly number[]): DeviceManager {
  const manager = new DeviceManager([0, 1]);
  manager.inventory.connect(resource, {});
  manager.updateDevices(
    resource,
    ids.map((id, index) => ({
      id,
      health: "Healthy",
      nodes: nodes === undefined ? undefined : [nodes[index] ?? 0],
    })),
  );
  return manager;
}

function finish<T>(
  steps: DeviceSteps<T>,
  answer: (call: DeviceCall) => DeviceAnswer = (call) =>
    call.method === "Allocate" ? { kind: "allocated", responses: [{}] } : { kind: "done" },
): T {
  let next = steps.next();
  while (next.done !== true) next = steps.next(answer(next.value));
  return next.value;
}

function request(pod: Pod, affinity: TopologyHint = noAffinity, active: readonly string[] = []) {
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error("the pod has no container");
  const activePods = new Set([pod.metadata.uid, ...active.map(podUid)]);
  return { pod, container, affinity, node: { activePods, sourcesReady: true } };
}

function held(manager: DeviceManager, pod: Pod): string[] {
  return [...(manager.podDevices.ids(pod.metadata.uid, "c", resource) ?? [])];
}

test("devices near the agreed NUMA nodes are handed out first", () => {
  const manager = managerWith(["a", "b", "c", "d"], [0, 1, 0, 1]);
  const pod = gpuPod("p", 2);
  expect(finish(manager.allocate(request(pod, { nodes: [1], preferred: true }))).ok).toBe(true);
  expect(held(manager, pod)).toEqual(["b", "d"]);
});

test("it is known why it was these devices, until the agent restarts", () => {
  const manager = managerWith(["a", "b", "c", "d"], [0, 1, 0, 1]);
  manager.inventory.connect(resource, { getPreferredAllocationAvailable: true });
  const pod = gpuPod("p", 1);
  finish(manager.allocate(request(pod, { nodes: [1], preferred: true })), (call) => {
    if (call.method === "GetPreferredAllocation") return { kind: "preferred", deviceIds: ["d"] };
    return call.method === "Allocate" ? { kind: "allocated", responses: [{}] } : { kind: "done" };
  });
  expect([...manager.podDevices.entries()]).toMatchObject([
    { idsByNode: new Map([[1, ["d"]]]), because: "those that its plugin prefers" },
  ]);
  const text = new DeviceCheckpointEncoder(allocateResponseCodec).text(manager.checkpoint());
  expect(text).not.toContain("prefers");
});

test("what a copy hands out is not handed out", () => {
  const manager = managerWith(["a", "b"]);
  const copy = manager.copy();
  expect(finish(copy.allocate(request(gpuPod("p", 2)))).ok).toBe(true);
  expect(manager.inUse.size).toBe(0);
  expect(finish(manager.allocate(request(gpuPod("q", 2)))).ok).toBe(true);
});

test("a plugin that fails to allocate leaves no device in use", () => {
  const manager = managerWith(["a", "b"]);
  const failed = finish(manager.allocate(request(gpuPod("p", 2))), () => ({
    kind: "failed",
    error: "device is gone",
  }));
  expect(failed).toEqual({ ok: false, error: "device is gone" });
  expect(manager.inUse.size).toBe(0);
});

test("a container that is restarted holds what it held, also in the next agent", () => {
  const manager = managerWith(["a", "b", "c"]);
  const pod = gpuPod("p", 2);
  finish(manager.allocate(request(pod)));
  const text = new DeviceCheckpointEncoder(allocateResponseCodec).text(manager.checkpoint());
  const checkpoint = parseDeviceCheckpoint(text, allocateResponseCodec);
  if (!checkpoint.ok) throw new Error(checkpoint.error);
  const next = managerWith([]);
  next.restore(checkpoint.value, 0);
  next.inventory.connect(resource, {});
  next.updateDevices(
    resource,
    ["a", "b", "c"].map((id) => ({ id, health: "Healthy", nodes: undefined })),
  );
  const calls: DeviceCall[] = [];
  const again: Result<void, string> = finish(next.allocate(request(pod)), (call) => {
    calls.push(call);
    return { kind: "done" };
  });
  expect(again.ok).toBe(true);
  expect(calls).toEqual([]);
  expect(held(next, pod)).toEqual(held(manager, pod));
});

test("a checkpoint that was changed is refused", () => {
  const manager = managerWith(["a"]);
  const text = new DeviceCheckpointEncoder(allocateResponseCodec).text(manager.checkpoint());
  const changed = text.replace('["a"]', '["b"]');
  expect(parseDeviceCheckpoint(changed, allocateResponseCodec)).toEqual({
    ok: false,
    error: "checkpoint is corrupted",
  });
});

test("the resource of a plugin that went is reported for five minutes more", () => {
  const manager = managerWith(["a"]);
  manager.inventory.disconnect(resource, 1000);
  const grace = manager.capacity(301_000);
  expect([grace.capacity.get(resource), grace.allocatable.get(resource)]).toEqual([1, 0]);
  expect(manager.capacity(301_001).deleted).toEqual([resource]);
  expect(manager.capacity(301_001).capacity.size).toBe(0);
});

test("no device is ever held by two pods, whatever comes and goes", () => {
  const step = fc.record({
    pod: fc.integer({ min: 0, max: 4 }),
    kind: fc.constantFrom("add", "end", "fail", "lose", "return"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const manager = managerWith(["a", "b", "c", "d"]);
      const active = new Set<string>();
      for (const { pod, kind } of steps) {
        const name = `p${pod}`;
        if (kind === "end") active.delete(name);
        else if (kind === "lose") manager.inventory.disconnect(resource, 0);
        else if (kind === "return") {
          manager.inventory.connect(resource, {});
          const devices = ["a", "b", "c", "d"].map((id) => ({
            id,
            health: "Healthy",
            nodes: undefined,
          }));
          manager.updateDevices(resource, devices);
        } else {
          active.add(name);
          const allocation = manager.allocate(
            request(gpuPod(name, 1 + (pod % 2)), noAffinity, [...active]),
          );
          finish(allocation, kind === "fail" ? () => ({ kind: "failed", error: "no" }) : undefined);
        }
        const ids = [...manager.podDevices.entries()].flatMap((entry) => [...heldIds(entry)]);
        expect(new Set(ids).size).toBe(ids.length);
      }
    }),
  );
});
