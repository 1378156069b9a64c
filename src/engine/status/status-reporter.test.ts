import { describe, expect, it } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../drivers/sim/virtual-clock.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { StatusReporter } from "./status-reporter.ts";

const path = "/api/v1/namespaces/ns/pods/web";

function setUp(pod: object = {}) {
  const clock = new VirtualClock();
  const api = new MemoryApi(() => clock.nowMs());
  const stored = api.put(path, {
    spec: { containers: [{ name: "c", image: "i" }] },
    status: { phase: "Pending" },
    ...pod,
  });
  const ending = new AbortController();
  let running = false;
  let mirror: Pod | undefined;
  let shown: Pod | undefined;
  const reporter = new StatusReporter({
    faults: loudFaults,
    api,
    clock,
    log: silentLog,
    mirrorOf: () => mirror,
    shownPod: () => shown,
    mayHaveRunningContainers: () => running,
    onSent: () => undefined,
    lifetime: ending.signal,
  });
  return {
    clock,
    api,
    reporter,
    pod: stored as unknown as Pod,
    setRunning: (value: boolean) => {
      running = value;
    },
    setMirror: (value: Pod) => {
      mirror = value;
    },
    setShown: (value: Pod) => {
      shown = value;
    },
    phase: () => (api.get(path)?.["status"] as PodStatus | undefined)?.phase,
    writes: () => api.requests.filter(({ method }) => method !== "GET").map(({ method }) => method),
  };
}

const ready = (status: string, lastTransitionTime: string): PodStatus => ({
  phase: "Running",
  conditions: [{ type: "Ready", status, lastTransitionTime }],
});

describe("StatusReporter", () => {
  it("patches what has changed, in the version of the pod that it knows", async () => {
    const { api, reporter, pod, clock } = setUp();
    reporter.report(pod, { phase: "Running", podIP: "10.0.0.1" }, false);
    await clock.advance(0);
    const patch = api.requests.find(({ method }) => method === "PATCH");
    expect(patch).toEqual({
      method: "PATCH",
      path: `${path}/status`,
      body: {
        metadata: { uid: pod.metadata.uid, resourceVersion: pod.metadata.resourceVersion },
        status: { phase: "Running", podIP: "10.0.0.1" },
      },
    });
  });

  it("tells an end that was held back when nothing runs any more, without being asked", async () => {
    const { reporter, pod, clock, phase, setRunning } = setUp();
    setRunning(true);
    reporter.report(pod, { phase: "Failed" }, false);
    await clock.advance(0);
    expect(phase()).toBe("Pending");
    setRunning(false);
    await clock.advance(10_000);
    expect(phase()).toBe("Failed");
  });

  it("writes nothing when the API server knows already", async () => {
    const { reporter, pod, clock, writes } = setUp({
      status: ready("True", "2026-01-01T00:00:00Z"),
    });
    reporter.report(pod, ready("True", "2026-01-01T00:05:00Z"), false);
    await clock.advance(0);
    expect(writes()).toEqual([]);
  });

  it("keeps trying while the API server is away, and then sends only the newest", async () => {
    const { api, reporter, pod, clock, phase, writes } = setUp();
    api.goDown();
    reporter.report(pod, { phase: "Pending", message: "first" }, false);
    await clock.advance(60_000);
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(60_000);
    api.comeBack();
    await clock.advance(20_000);
    expect(phase()).toBe("Running");
    expect(writes()).toEqual(["PATCH"]);
  });

  it("holds a terminal phase back while containers may run", async () => {
    const { reporter, pod, clock, phase, setRunning } = setUp({ status: { phase: "Running" } });
    setRunning(true);
    reporter.report(pod, { phase: "Failed" }, false);
    await clock.advance(0);
    expect(phase()).toBe("Running");
    setRunning(false);
    reporter.report(pod, { phase: "Failed" }, true);
    await clock.advance(0);
    expect(phase()).toBe("Failed");
  });

  it("makes the API server forget a deleted pod only when it is finished", async () => {
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const { api, reporter, pod, clock } = setUp({ metadata: { deletionTimestamp } });
    reporter.report(pod, { phase: "Succeeded" }, false);
    await clock.advance(0);
    expect(api.get(path)).toBeDefined();
    reporter.report(pod, { phase: "Succeeded" }, true);
    await clock.advance(0);
    expect(api.get(path)).toBeUndefined();
  });

  it("asks nothing more about a pod that the API server has forgotten", async () => {
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const { api, reporter, pod, clock } = setUp({ metadata: { deletionTimestamp } });
    reporter.report(pod, { phase: "Succeeded" }, true);
    await clock.advance(0);
    const asked = api.requests.length;
    reporter.report(pod, { phase: "Succeeded", message: "once more" }, true);
    await clock.advance(60_000);
    expect(api.requests).toHaveLength(asked);
  });

  it("forgets a pod that finished before somebody deleted it", async () => {
    const { api, reporter, pod, clock } = setUp();
    reporter.report(pod, { phase: "Succeeded" }, true);
    await clock.advance(0);
    const metadata = { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    const deleted = api.put(path, { ...api.get(path), metadata });
    reporter.reconcile(pod.metadata.uid, deleted as unknown as Pod);
    await clock.advance(0);
    expect(api.get(path)).toBeUndefined();
  });

  it("leaves another pod of the same name alone", async () => {
    const { reporter, pod, clock, writes } = setUp();
    const other = { ...pod, metadata: { ...pod.metadata, uid: "other" } };
    reporter.report(other, { phase: "Failed" }, true);
    await clock.advance(60_000);
    expect(writes()).toEqual([]);
  });

  it("does not ask about a pod that the API server has shown", async () => {
    const { api, reporter, pod, clock, phase, setShown } = setUp();
    setShown(pod);
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    reporter.report(pod, { phase: "Running", podIP: "10.0.0.1" }, false);
    await clock.advance(0);
    expect(phase()).toBe("Running");
    expect(api.requests.map(({ method }) => method)).toEqual(["PATCH", "PATCH"]);
  });

  it("writes nothing again when news come later than the answers to what was written", async () => {
    const { reporter, pod, clock, writes, setShown } = setUp();
    setShown(pod);
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    reporter.reconcile(pod.metadata.uid, pod);
    await clock.advance(0);
    expect(writes()).toEqual(["PATCH"]);
  });

  it("looks again when the pod was changed since it was shown", async () => {
    const { api, reporter, pod, clock, phase, setShown } = setUp();
    setShown(pod);
    api.put(path, { ...api.get(path), metadata: { ...pod.metadata, labels: { a: "b" } } });
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    expect(phase()).toBe("Running");
    expect(api.requests.map(({ method }) => method)).toEqual(["PATCH", "GET", "PATCH"]);
  });

  it("looks again when the pod is no longer the one that was shown", async () => {
    const { api, reporter, pod, clock, phase, setShown } = setUp();
    setShown(pod);
    await api.send(
      { method: "DELETE", path, body: { gracePeriodSeconds: 0 } },
      new AbortController().signal,
    );
    api.put(path, { status: { phase: "Pending" } });
    reporter.report(pod, { phase: "Failed" }, false);
    await clock.advance(60_000);
    expect(phase()).toBe("Pending");
    expect(api.requests.map(({ method }) => method)).toEqual(["DELETE", "PATCH", "GET"]);
  });

  it("corrects a status that somebody else wrote over", async () => {
    const { api, reporter, pod, clock, phase } = setUp();
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    const changed = api.put(path, { ...api.get(path), status: { phase: "Failed" } });
    reporter.report(pod, { phase: "Running" }, false);
    reporter.reconcile(pod.metadata.uid, changed as unknown as Pod);
    await clock.advance(0);
    expect(phase()).toBe("Running");
  });

  it("tells a static pod's status when its picture appears", async () => {
    const { reporter, pod, clock, phase, setMirror } = setUp();
    const annotations = { "kubernetes.io/config.source": "file" };
    const fixed = { ...pod, metadata: { ...pod.metadata, uid: "static", annotations } };
    reporter.report(fixed, { phase: "Running" }, false);
    await clock.advance(60_000);
    expect(phase()).toBe("Pending");
    setMirror(pod);
    reporter.reconcile("static", pod);
    await clock.advance(0);
    expect(phase()).toBe("Running");
  });
});
