import { expect, test } from "vitest";
import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { isSameStatus } from "./same-status.ts";

const web: ContainerStatus = {
  name: "web",
  image: "web:1",
  imageID: "",
  ready: false,
  restartCount: 0,
};

function withContainer(change: Partial<ContainerStatus>): PodStatus {
  return { containerStatuses: [{ ...web, ...change }] };
}

function withCpu(cpu: string): PodStatus {
  return withContainer({ resources: { requests: { cpu } } });
}

test("an absent field, an empty list and an empty text say the same", () => {
  expect(isSameStatus({ reason: "", podIPs: [], conditions: [] }, {})).toBe(true);
  expect(isSameStatus(withContainer({ state: {}, lastState: {} }), withContainer({}))).toBe(true);
});

test("an amount is the same however it is written", () => {
  expect(isSameStatus(withCpu("1"), withCpu("1000m"))).toBe(true);
  expect(isSameStatus(withCpu("1"), withCpu("1001m"))).toBe(false);
});

test("not started is not the same as not known to be started", () => {
  expect(isSameStatus(withContainer({ started: false }), withContainer({}))).toBe(false);
});

test("waiting without a reason is not the same as no state", () => {
  expect(isSameStatus(withContainer({ state: { waiting: {} } }), withContainer({}))).toBe(false);
});

test("transition times and others' conditions do not count", () => {
  const ready = { type: "Ready", status: "True" };
  const gate = { type: "example.com/gate", status: "True" };
  const later = { ...ready, lastTransitionTime: "2026-05-04T10:00:00Z" };
  expect(isSameStatus({ conditions: [ready] }, { conditions: [gate, later] })).toBe(true);
  expect(
    isSameStatus({ conditions: [ready] }, { conditions: [{ ...ready, message: "slow" }] }),
  ).toBe(false);
});
