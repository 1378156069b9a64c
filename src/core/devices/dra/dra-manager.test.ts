import { expect, test } from "vitest";
import { buildPod } from "../../../../test/kit/pods.ts";
import type { ResourceResourceClaim } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import type { DraAnswer, DraCall, DraSteps } from "./dra-calls.ts";
import { encodeDraCheckpoint, parseDraCheckpoint } from "./dra-checkpoint.ts";
import { DraDrivers } from "./dra-drivers.ts";
import { DraManager } from "./dra-manager.ts";

const driver = "gpu.example.com";

function podWith(name: string, claims: readonly string[]): Pod {
  return buildPod({
    metadata: { name, namespace: "ns", uid: name },
    spec: {
      containers: [{ name: "c", resources: { claims: claims.map((claim) => ({ name: claim })) } }],
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
    },
  });
}

function claim(name: string): ResourceResourceClaim {
  const results = [{ driver, pool: "pool", device: name, request: "r" }];
  return {
    metadata: { name, namespace: "ns", uid: `${name}-uid` },
    spec: {},
    status: {
      allocation: { devices: { results } },
      reservedFor: ["p", "q"].map((uid) => ({ name: uid, resource: "pods", uid })),
    },
  };
}

function managerWithDriver(): DraManager {
  const drivers = new DraDrivers();
  drivers.register(driver, "/a.sock", ["v1.DRAPlugin"]);
  return new DraManager(drivers);
}

interface Finished<T> {
  readonly value: T;
  readonly calls: DraCall[];
}

/** Carries the steps out with a driver that succeeds, or is away; returns the calls to it. */
function finish<T>(steps: DraSteps<T>, isAway = false): Finished<T> {
  const calls: DraCall[] = [];
  const answer = (call: DraCall): DraAnswer => {
    if (call.method === "SaveCheckpoint") return { kind: "done" };
    if (call.method === "GetClaim") return { kind: "claim", claim: claim(call.name) };
    calls.push(call);
    if (isAway) return { kind: "failed", error: "connection refused" };
    const results = call.claims.map(({ uid, name }) => {
      const device = { pool: "pool", device: name, shareId: undefined };
      const devices = [{ ...device, requests: [], cdiDevices: [`${driver}/gpu=${name}`] }];
      return [uid, { error: "", devices }] as const;
    });
    return { kind: "results", results: new Map(results) };
  };
  let next = steps.next();
  while (next.done !== true) next = steps.next(answer(next.value));
  return { value: next.value, calls };
}

test("all claims of a pod go to their driver in one call, and not again once they are prepared", () => {
  const manager = managerWithDriver();
  const pod = podWith("p", ["a", "b"]);
  const { value, calls } = finish(manager.prepare(pod));
  expect(value.ok).toBe(true);
  expect(calls).toMatchObject([{ claims: [{ name: "a" }, { name: "b" }] }]);
  expect(finish(manager.prepare(pod)).calls).toEqual([]);
});

test("a claim that pods share is given back with the last of them", () => {
  const manager = managerWithDriver();
  const [first, second] = [podWith("p", ["a"]), podWith("q", ["a"])];
  finish(manager.prepare(first));
  finish(manager.prepare(second));
  expect(finish(manager.unprepare(first)).calls).toEqual([]);
  expect(manager.uses(first.metadata.uid)).toBe(false);
  expect(finish(manager.unprepare(second)).calls).toMatchObject([
    { method: "NodeUnprepareResources", claims: [{ name: "a" }] },
  ]);
  expect(manager.claims.all()).toEqual([]);
});

test("a claim that another pod still uses stays when giving back the others of a pod is tried again", () => {
  const manager = managerWithDriver();
  const [first, second] = [podWith("p", ["a"]), podWith("q", ["a", "b"])];
  finish(manager.prepare(first));
  finish(manager.prepare(second));
  expect(finish(manager.unprepare(second), true).value.ok).toBe(false);
  expect(finish(manager.unprepare(second)).calls).toMatchObject([{ claims: [{ name: "b" }] }]);
  expect(manager.uses(first.metadata.uid)).toBe(true);
});

test("the next agent knows the claims and prepares them again", () => {
  const manager = managerWithDriver();
  finish(manager.prepare(podWith("p", ["a"])));
  const before = manager.claims.all();
  const restored = parseDraCheckpoint(encodeDraCheckpoint(before));
  expect(restored).toEqual({
    ok: true,
    value: before.map((info) => ({ ...info, isPrepared: false })),
  });
});

test("a pod whose driver is not there changes nothing", () => {
  const manager = new DraManager(new DraDrivers());
  expect(finish(manager.prepare(podWith("p", ["a"]))).value).toEqual({
    ok: false,
    error: `prepare dynamic resources: DRA driver ${driver} is not registered`,
  });
  expect(manager.claims.all()).toEqual([]);
});

test("a checkpoint that was changed is refused", () => {
  const text = encodeDraCheckpoint([]).replace("[]", "null");
  expect(parseDraCheckpoint(text)).toMatchObject({
    ok: false,
    error: expect.stringContaining("checkpoint is corrupted"),
  });
});
