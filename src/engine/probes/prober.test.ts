import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { settle, VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { formatTime } from "../../lib/time.ts";
import type { Container, PodStatus } from "../../model/generated/kubernetes.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { ProbeKind, ProbeResult } from "../../model/probe.ts";
import type { ProbeOutcome, ProbeRequest } from "../../ports/probe-runner.ts";
import { PodTable } from "../pods/pod-table.ts";
import { notProbed, probeNow, probeView } from "./probe-view.ts";
import { Prober } from "./prober.ts";

const uid1 = podUid("1");

const kinds = ["startup", "liveness", "readiness"] as const;
const probe = {
  exec: { command: ["x"] },
  periodSeconds: 10,
  failureThreshold: 1,
  successThreshold: 1,
};

function podWith(container: Partial<Container>): Pod {
  return buildPod({
    metadata: { name: "a", namespace: "ns", uid: "1" },
    spec: { containers: [{ name: "c", image: "i", ...container }] },
  });
}

/** A prober of a pod whose one container has been running for a minute, in an agent that is as old. */
async function setUp(started: boolean) {
  const clock = new VirtualClock();
  const probed: number[] = [];
  const requests: ProbeRequest[] = [];
  const updates: string[] = [];
  const events: string[] = [];
  const statuses: string[] = [];
  const table = new PodTable();
  const metrics = new MetricsRegistry(metricDefinitions);
  const probing = () => table.get(uid1)?.probes ?? notProbed;
  let last: Partial<Record<ProbeKind, ProbeResult>> = {};
  const bench = {
    clock,
    probed,
    requests,
    updates,
    events,
    statuses,
    table,
    metrics,
    probing,
    outcome: { result: "success", output: "" } as ProbeOutcome,
    started,
    ended: undefined as { readonly exitCode: number } | undefined,
  };
  const startedAt = formatTime(clock.nowMs());
  const prober = new Prober({
    faults: loudFaults,
    clock,
    random: () => 0.5,
    runner: {
      run: (request, signal) => {
        probed.push(clock.monotonicMs() / 1000);
        requests.push(request);
        signal.throwIfAborted();
        return Promise.resolve(bench.outcome);
      },
    },
    events: { record: (_pod, { reason, message }) => void events.push(`${reason}: ${message}`) },
    statuses: {
      get: (): PodStatus => ({
        phase: "Running",
        containerStatuses: [
          {
            name: "c",
            image: "",
            imageID: "",
            ready: false,
            restartCount: 0,
            containerID: "r://1",
            started: bench.started,
            state: bench.ended ? { terminated: bench.ended } : { running: { startedAt } },
          },
        ],
      }),
      setReady: (_uid, _id, ready) => void statuses.push(`ready ${ready}`),
      setStarted: (_uid, _id, isStarted) => void statuses.push(`started ${isStarted}`),
    },
    metrics,
    table,
    wakeups: {
      look: () => {
        const { results } = probing();
        for (const kind of kinds) {
          const result = results[kind].get("r://1");
          if (result === last[kind]) continue;
          last = { ...last, [kind]: result };
          updates.push(`${kind} ${result}`);
        }
      },
    },
    agentStartedAtMs: clock.nowMs(),
  });
  await clock.advance(60_000);
  return { ...bench, bench, prober };
}

test("a probe runs at once and then in its period, and reports only changes", async () => {
  const { prober, clock, probed, updates, statuses, events, bench } = await setUp(true);
  prober.addPod(podWith({ readinessProbe: probe }));
  prober.addPod(podWith({ readinessProbe: probe }));
  await clock.advance(25_000);
  bench.outcome = { result: "failure", output: "sick" };
  await clock.advance(10_000);
  expect(probed).toEqual([60, 70, 80, 90]);
  expect(updates).toEqual(["readiness Failure", "readiness Success", "readiness Failure"]);
  expect(statuses).toEqual(["ready false", "ready true", "ready false"]);
  expect(events).toEqual(["Unhealthy: Readiness probe failed: sick"]);
  await prober.stop();
});

test("in a fresh agent the first probe waits for a part of its period, whatever triggers it", async () => {
  const { prober, clock, probed, probing } = await setUp(true);
  prober.addPod(podWith({ readinessProbe: { ...probe, periodSeconds: 100 } }));
  probeNow(probing(), "c");
  await clock.advance(120_000);
  expect(probed).toEqual([110]);
  await prober.stop();
});

test("probing now moves the next time", async () => {
  const { prober, clock, probed, probing } = await setUp(true);
  prober.addPod(podWith({ readinessProbe: probe }));
  await clock.advance(3_000);
  probeNow(probing(), "c");
  await clock.advance(11_000);
  expect(probed).toEqual([60, 63, 73]);
  await prober.stop();
});

test("until the container has started only the startup probe runs, and then all others", async () => {
  const { prober, clock, updates, probing, bench } = await setUp(false);
  prober.addPod(podWith({ startupProbe: probe, livenessProbe: probe }));
  expect(probeView(probing(), 0)).toMatchObject({
    startupProbed: new Set(["c"]),
    readinessProbed: new Set(),
  });
  await clock.advance(5_000);
  expect(updates).toEqual(["startup UNKNOWN", "liveness Success", "startup Success"]);
  bench.started = true;
  bench.outcome = { result: "failure", output: "" };
  await clock.advance(10_000);
  expect(updates.slice(3)).toEqual(["liveness Failure"]);
  expect(probing().results.liveness).toEqual(new Map([["r://1", "Failure"]]));
  await prober.stop();
});

test("an ending pod keeps only its readiness probe, and a removed one none", async () => {
  const { prober, clock, table, probing } = await setUp(true);
  const pod = podWith({ startupProbe: probe, livenessProbe: probe, readinessProbe: probe });
  prober.addPod(pod);
  await clock.advance(1_000);
  prober.stopLivenessAndStartup(pod);
  await settle();
  expect([probing().results.liveness.size, probing().results.startup.size]).toEqual([0, 0]);
  expect(probing().results.readiness.size).toBe(1);
  expect(probing().running.map(({ kind }) => kind)).toEqual(["readiness"]);
  prober.removePod(uid1);
  await settle();
  expect(table.get(uid1)?.probes).toBeUndefined();
});

test("a probe that does not work is tried three times and changes nothing", async () => {
  const { prober, clock, probed, events, updates, bench } = await setUp(true);
  bench.outcome = { result: "error", state: "unknown", output: "broken" };
  prober.addPod(podWith({ readinessProbe: probe }));
  await clock.advance(1_000);
  expect(probed).toEqual([60, 60, 60]);
  expect(updates).toEqual(["readiness Failure"]);
  expect(events).toEqual([
    "Unhealthy: Readiness probe errored and resulted in unknown state: broken",
  ]);
  await prober.stop();
});

test("a command may refer to values of the container's own environment", async () => {
  const { prober, clock, requests } = await setUp(true);
  const readinessProbe = { ...probe, exec: { command: ["$(A)", "$(B)", "$(C)"] } };
  const env = [
    { name: "A", value: "1" },
    { name: "B", valueFrom: {} },
  ];
  prober.addPod(podWith({ readinessProbe, env }));
  await clock.advance(1_000);
  expect(requests[0]?.probe.exec?.command).toEqual(["1", "", "$(C)"]);
  await prober.stop();
});

test("stopping in the middle of a probe does not wait for the time of the next", async () => {
  const { prober, probed } = await setUp(true);
  prober.addPod(podWith({ readinessProbe: probe }));
  await prober.stop();
  expect(probed).toEqual([60]);
});

test("a container that ended for good is not probed again with every sync", async () => {
  const { prober, clock, updates, bench } = await setUp(true);
  bench.ended = { exitCode: 0 };
  const pod = podWith({ readinessProbe: probe, startupProbe: probe });
  const once: Pod = { ...pod, spec: { ...pod.spec, restartPolicy: "Never" } };
  for (let sync = 0; sync < 3; sync += 1) {
    prober.addPod(once);
    await clock.advance(1_000);
  }
  expect(updates).toEqual([]);
});

test("a probe ends with the entry of its pod, and what was measured goes with it", async () => {
  const { prober, clock, probed, table, metrics } = await setUp(true);
  prober.addPod(podWith({ readinessProbe: probe }));
  await clock.advance(15_000);
  expect(probed).toEqual([60, 70]);
  const text = () => metrics.text((name) => name.startsWith("prober_"));
  expect(text()).toContain('pod_uid="1"');
  expect(text()).toContain("prober_probe_duration_seconds_count{");
  table.delete(uid1);
  await clock.advance(60_000);
  expect(probed).toEqual([60, 70]);
  expect(table.get(uid1)).toBeUndefined();
  expect(text()).not.toContain('pod="a"');
});
