import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import type { FitFailure } from "./node-fit.ts";
import { admitWithPreemption, planPreemption } from "./preemption.ts";

type Amounts = Readonly<Record<string, string>>;

function pod(
  name: string,
  requests: Amounts,
  rest: { limits?: Amounts; priority?: number } = {},
): Pod {
  return buildPod({
    metadata: { name, namespace: "ns", uid: name },
    spec: {
      containers: [{ name: "c", resources: { requests, limits: rest.limits ?? {} } }],
      priority: rest.priority ?? 0,
    },
  });
}

function lacking(resource: string, amount: bigint): FitFailure {
  return { kind: "resource", resource, requested: amount, used: 0n, capacity: 0n };
}

const critical = pod("critical", {}, { priority: 2_000_000_000 });

function victims(pods: readonly Pod[], ...failures: readonly FitFailure[]) {
  const plan = planPreemption(critical, pods, failures);
  return plan.ok ? plan.value.map(({ metadata }) => metadata.name) : plan.error;
}

test("an ordinary pod gets no room made for it", () => {
  expect(planPreemption(pod("p", {}), [pod("q", { cpu: "1" })], [lacking("cpu", 500n)])).toEqual({
    ok: false,
    error: {
      admit: false,
      reason: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 500, used: 0, capacity: 0",
    },
  });
});

test("the smallest pod that is enough goes", () => {
  const pods = [pod("big", { cpu: "4" }), pod("fit", { cpu: "1" }), pod("tiny", { cpu: "100m" })];
  expect(victims(pods, lacking("cpu", 500n))).toEqual(["fit"]);
});

test("guaranteed pods go only when the others are not enough", () => {
  const amounts = { cpu: "1", memory: "1Mi" };
  const pods = [
    pod("guaranteed", amounts, { limits: amounts }),
    pod("burstable", { cpu: "1" }),
    pod("best-effort", {}),
  ];
  expect(victims(pods, lacking("cpu", 800n))).toEqual(["burstable"]);
  expect(victims(pods, lacking("cpu", 1800n))).toEqual(["burstable", "guaranteed"]);
  expect(victims(pods, lacking("pods", 1n))).toEqual(["best-effort"]);
});

test("no pod dies in vain", () => {
  const pods = [pod("q", { cpu: "1" }), pod("other", { cpu: "9" }, { priority: 2_000_000_000 })];
  expect(victims(pods, lacking("cpu", 5000n))).toEqual({
    admit: false,
    reason: "OutOfcpu",
    message: "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 0",
  });
  const taint: FitFailure = { kind: "predicate", name: "TaintToleration", description: "tainted" };
  expect(victims(pods, lacking("cpu", 5n), taint)).toMatchObject({ reason: "TaintToleration" });
});

test("admission names the pods that have to end first", () => {
  const node = { status: { allocatable: { pods: "9", cpu: "1" } } };
  const busy = pod("busy", { cpu: "1" });
  const wanted: Pod = { ...critical, spec: { ...pod("x", { cpu: "1" }).spec, priority: 2e9 } };
  expect(admitWithPreemption(wanted, [busy], node)).toEqual({
    result: { admit: true },
    victims: [busy],
  });
  const windows: Pod = { ...wanted, spec: { ...wanted.spec, os: { name: "windows" } } };
  expect(admitWithPreemption(windows, [busy], node)).toMatchObject({
    result: { reason: "PodOSNotSupported" },
    victims: [],
  });
});
