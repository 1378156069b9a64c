import { describe, expect, it } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import {
  configHashAnnotation,
  configMirrorAnnotation,
  configSourceAnnotation,
} from "../../model/pod-source.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
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
  const table = new PodTable();
  const registry = new PodRegistry(table);
  let running = false;
  let shown: Pod | undefined;
  const reporter = new StatusReporter({
    table,
    registry,
    faults: loudFaults,
    metrics: noMetrics,
    api,
    clock,
    log: silentLog,
    source: { find: () => shown },
    states: { couldHaveRunningContainers: () => running },
    lifetime: ending.signal,
  });
  return {
    clock,
    api,
    table,
    registry,
    reporter,
    pod: stored as unknown as Pod,
    setRunning: (value: boolean) => {
      running = value;
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

  it("reports an end that was held back when nothing runs any more, without being asked", async () => {
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
    reporter.report(pod, { phase: "Succeeded", message: "again" }, true);
    await clock.advance(60_000);
    expect(api.requests).toHaveLength(asked);
  });

  it("forgets a pod that finished before it was deleted", async () => {
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
    const other = { ...pod, metadata: { ...pod.metadata, uid: podUid("other") } };
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

  it("writes nothing again when a change is shown later than it was answered", async () => {
    const { reporter, pod, clock, writes, setShown } = setUp();
    setShown(pod);
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    reporter.reconcile(pod.metadata.uid, pod);
    await clock.advance(0);
    expect(writes()).toEqual(["PATCH"]);
  });

  it("reads again when the pod was changed since it was shown", async () => {
    const { api, reporter, pod, clock, phase, setShown } = setUp();
    setShown(pod);
    api.put(path, { ...api.get(path), metadata: { ...pod.metadata, labels: { a: "b" } } });
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    expect(phase()).toBe("Running");
    expect(api.requests.map(({ method }) => method)).toEqual(["PATCH", "GET", "PATCH"]);
  });

  it("reads again when the pod is no longer the one that was shown", async () => {
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

  it("corrects a status that another client overwrote", async () => {
    const { api, reporter, pod, clock, phase } = setUp();
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    const changed = api.put(path, { ...api.get(path), status: { phase: "Failed" } });
    reporter.report(pod, { phase: "Running" }, false);
    reporter.reconcile(pod.metadata.uid, changed as unknown as Pod);
    await clock.advance(0);
    expect(phase()).toBe("Running");
  });

  it("reports a static pod's status when its mirror pod appears", async () => {
    const { reporter, pod, registry, clock, phase } = setUp();
    const annotations = { [configSourceAnnotation]: "file", [configHashAnnotation]: "hash" };
    const fixed = { ...pod, metadata: { ...pod.metadata, uid: podUid("static"), annotations } };
    registry.set(fixed);
    reporter.report(fixed, { phase: "Running" }, false);
    await clock.advance(60_000);
    expect(phase()).toBe("Pending");
    const mirrorAnnotations = { [configMirrorAnnotation]: "hash" };
    const mirror = { ...pod, metadata: { ...pod.metadata, annotations: mirrorAnnotations } };
    registry.set(mirror);
    reporter.reconcile(podUid("static"), mirror);
    await clock.advance(0);
    expect(phase()).toBe("Running");
  });

  it("sends urgent changes first, and one request per pod at a time", async () => {
    const { api, reporter, pod, clock } = setUp();
    const pods = Array.from({ length: 14 }, (_, index) => {
      const name = `p${index}`;
      return api.put(`/api/v1/namespaces/ns/pods/${name}`, { status: { phase: "Pending" } });
    }) as unknown as Pod[];
    api.goDown();
    reporter.report(pod, { phase: "Pending", message: "first" }, false);
    await clock.advance(0);
    for (const each of pods) reporter.report(each, { phase: "Pending", message: "later" }, false);
    const [urgent] = pods.slice(-1);
    if (urgent === undefined) throw new Error("no pod");
    reporter.report(urgent, ready("True", "2026-01-01T00:00:00Z"), false);
    expect(reporter.isSettled).toBe(false);
    api.comeBack();
    await clock.advance(20_000);
    expect(reporter.isSettled).toBe(true);
    const patched = api.requests.filter(({ method }) => method === "PATCH");
    expect(patched[0]?.path).toBe("/api/v1/namespaces/ns/pods/p13/status");
    expect(new Set(patched.map(({ path: each }) => each)).size).toBe(15);
    expect(patched).toHaveLength(15);
  });

  it("reports nothing more of a life that is over, and the next one from its beginning", async () => {
    const { api, table, reporter, pod, clock, phase } = setUp();
    const { uid } = pod.metadata;
    api.goDown();
    reporter.report(pod, { phase: "Failed" }, true);
    await clock.advance(0);
    reporter.endLife(uid);
    expect(reporter.isSettled).toBe(true);
    expect(table.get(uid)?.report).toBeUndefined();
    api.comeBack();
    await clock.advance(60_000);
    expect(phase()).toBe("Pending");
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    expect(phase()).toBe("Running");
  });

  it("a request that is under way when a life ends is not joined by one of the next life", async () => {
    const { api, reporter, pod, clock, phase } = setUp();
    reporter.report(pod, { phase: "Running" }, false);
    reporter.endLife(pod.metadata.uid);
    reporter.report(pod, { phase: "Running", message: "next" }, false);
    const atOnce = api.requests.length;
    await clock.advance(0);
    expect(atOnce).toBe(1);
    expect(phase()).toBe("Running");
    expect(api.get(path)?.["status"]).toMatchObject({ message: "next" });
  });

  it("a pod that is forgotten leaves no waiter behind", async () => {
    const { api, table, reporter, pod, clock } = setUp();
    api.goDown();
    reporter.report(pod, { phase: "Running" }, false);
    await clock.advance(0);
    expect(reporter.isSettled).toBe(false);
    table.delete(pod.metadata.uid);
    expect(reporter.isSettled).toBe(true);
  });
});
