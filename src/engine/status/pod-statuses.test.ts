import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyPod } from "../../../test/kit/any-plan-input.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { StatusWorld } from "../../../test/kit/status-world.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { containerId, podUid } from "../../model/ids.ts";
import {
  emptyObservedPod,
  type ObservedContainer,
  type ObservedPod,
} from "../../model/observed.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import {
  configHashAnnotation,
  configMirrorAnnotation,
  configSourceAnnotation,
} from "../../model/pod-source.ts";
import type { StepReport } from "../execute/step-report.ts";

const uid1 = podUid("uid-1");

const noon = "2026-05-04T12:00:00Z";
const morning = "2026-05-04T08:00:00Z";

const pod: Pod = buildPod({
  metadata: { name: "shop", namespace: "default", uid: "uid-1", generation: 2 },
  spec: { containers: [{ name: "web", image: "web:1" }], restartPolicy: "Never" },
});

const running: ContainerStatus = {
  name: "web",
  image: "web:1",
  imageID: "",
  containerID: "containerd://web",
  ready: false,
  restartCount: 0,
  state: { running: { startedAt: morning } },
};

const exited: ContainerStatus = { ...running, state: { terminated: { exitCode: 1 } } };

function start(known: Pod = pod) {
  const refused: unknown[] = [];
  const metrics = new MetricsRegistry(metricDefinitions);
  const world = new StatusWorld({
    clock: { nowMs: () => Date.parse(noon) },
    log: { ...silentLog, error: (_message, fields) => void refused.push(fields?.["because"]) },
    metrics,
  });
  world.registry.set(known);
  const { statuses, reported } = world;
  return { world, statuses, reported, refused, metrics };
}

function mirrorOf(status: PodStatus): Pod {
  const annotations = { [configMirrorAnnotation]: "hash" };
  return { ...pod, metadata: { ...pod.metadata, annotations }, status };
}

const staticPod: Pod = {
  ...pod,
  metadata: {
    ...pod.metadata,
    annotations: { [configSourceAnnotation]: "file", [configHashAnnotation]: "hash" },
  },
};

describe("versions", () => {
  test("every change is reported once, with a rising version", () => {
    const { world, statuses, reported } = start();
    const versions = ["Pending", "Pending", "Running"].map((phase) => {
      statuses.set(pod, { phase });
      return world.version("uid-1");
    });
    expect(versions).toEqual([1, 1, 2]);
    expect(reported.map(({ status }) => status.phase)).toEqual(["Pending", "Running"]);
  });

  test("an equal status of a pod that is being deleted is a new version all the same", () => {
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: noon } };
    const { statuses, reported } = start();
    statuses.set(deleted, { phase: "Running" });
    statuses.set(deleted, { phase: "Running" });
    expect(reported).toHaveLength(2);
  });

  test("the last version stays the last one", () => {
    const { statuses, reported } = start();
    statuses.terminate(pod);
    statuses.set(pod, { phase: "Failed", reason: "Evicted" });
    expect(reported.map(({ isFinished }) => isFinished)).toEqual([true, true]);
  });

  test("a mirror pod without a status does not hide what is known of its static pod", () => {
    const known = { ...staticPod, status: { phase: "Running", startTime: morning } };
    const { world, statuses, reported } = start(known);
    world.registry.set(mirrorOf({ phase: "Pending" }));
    statuses.set(known, { phase: "Running", message: "as before" });
    expect(reported[0]?.status.startTime).toBe(morning);
  });
});

test("a mount is reported as read-only all the way down where the runtime can do that", () => {
  const volumeMounts = [
    { name: "data", mountPath: "/data", readOnly: true, recursiveReadOnly: "IfPossible" },
  ];
  const spec = { ...pod.spec, containers: [{ name: "web", image: "web:1", volumeMounts }] };
  const shownFor = (recursiveReadOnlyMounts: boolean): string | undefined => {
    const { statuses } = new StatusWorld({
      handlers: [{ name: "", features: { recursiveReadOnlyMounts } }],
    });
    const seen = emptyObservedPod(uid1, "shop", "default");
    const status = statuses.compute({ ...pod, spec }, seen, { isTerminal: false });
    return status.containerStatuses?.[0]?.volumeMounts?.[0]?.recursiveReadOnly;
  };
  expect([true, false].map(shownFor)).toEqual(["Enabled", "Disabled"]);
});

describe("a life that is over", () => {
  test("says nothing about the next one under the same UID", async () => {
    const { world, statuses } = start(staticPod);
    statuses.set(staticPod, { phase: "Failed", containerStatuses: [exited] });
    statuses.noteStarts(uid1, [startReport({ code: "RunContainerError", message: "no" })]);
    statuses.terminate(staticPod);
    await world.checkpoints.flush();
    statuses.endLife(uid1);
    expect(statuses.get(uid1)).toBeUndefined();
    expect(world.ended, "its end is still reported").toEqual([]);
    expect(world.checkpoints.restore(staticPod).status).toBeUndefined();
    expect(world.table.get(uid1)?.checkpoint?.written?.phase, "shown meanwhile").toBe("Failed");
    statuses.set(staticPod, { phase: "Running", containerStatuses: [running] });
    expect(world.table.get(uid1)?.status).toMatchObject({
      current: { phase: "Running", containerStatuses: [running] },
      version: 1,
      isFinished: false,
      startFailures: new Map(),
    });
    expect(world.checkpoints.restore(staticPod).status?.phase).toBe("Running");
  });

  test("is no longer reported when no source wants the pod", () => {
    const { world, statuses } = start();
    statuses.set(pod, { phase: "Failed" });
    world.registry.remove(pod);
    statuses.endLife(uid1);
    expect(world.ended).toEqual(["uid-1"]);
  });

  test("makes no entry for a pod of which nothing is known", () => {
    const { world, statuses } = start();
    statuses.endLife(podUid("uid-2"));
    expect(world.table.get(podUid("uid-2"))).toBeUndefined();
  });
});

function startReport(failure?: { readonly code: string; readonly message: string }): StepReport {
  return {
    kind: "start-container",
    target: "web",
    because: "",
    startedAtMs: 0,
    durationMs: 0,
    failure,
  };
}

describe("starts that fail", () => {
  test("are new when their reason is, and are shown until the container starts", () => {
    const { statuses } = start();
    const failure = { code: "ErrImagePull", message: "no such image" };
    expect(statuses.noteStarts(uid1, [startReport(failure)])).toBe(true);
    expect(statuses.noteStarts(uid1, [startReport(failure)])).toBe(false);
    const waiting = () =>
      statuses.compute(pod, emptyObservedPod(uid1, "shop", "default"), {
        isTerminal: false,
      }).containerStatuses?.[0]?.state?.waiting?.reason;
    expect(waiting()).toBe("ErrImagePull");
    expect(statuses.noteStarts(uid1, [startReport()])).toBe(false);
    expect(waiting()).toBe("ContainerCreating");
  });

  test("are forgotten when the container is seen to run: only the answer came too late", () => {
    const { statuses } = start();
    const restarted: Pod = { ...pod, spec: { ...pod.spec, restartPolicy: "Always" } };
    const instance: ObservedContainer = {
      id: containerId("containerd://web"),
      name: "web",
      state: "running",
      exitCode: 0,
      image: "",
      imageId: "",
      imageRef: "",
      hash: "",
      restartCount: 0,
      reason: "",
      message: "",
    };
    const compute = (seen: ObservedContainer) => {
      const observed = { ...emptyObservedPod(uid1, "shop", "default"), containers: [seen] };
      return statuses.compute(restarted, observed, { isTerminal: false });
    };
    statuses.noteStarts(uid1, [startReport({ code: "RunContainerError", message: "too late" })]);
    compute(instance);
    const ended = compute({ ...instance, state: "exited", exitCode: 1 });
    expect(ended.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(1);
  });
});

describe("containers that end", () => {
  test("are counted once, with the status that shows it first", () => {
    const { statuses, metrics } = start();
    statuses.set(pod, { phase: "Running", containerStatuses: [running] });
    statuses.set(pod, { phase: "Running", containerStatuses: [exited] });
    statuses.set(pod, { phase: "Failed", containerStatuses: [exited] });
    statuses.terminate(pod);
    const lines = metrics
      .text((name) => name === "kubelet_terminated_containers_total")
      .split("\n")
      .filter((line) => line.startsWith("kubelet_"));
    expect(lines).toEqual([
      'kubelet_terminated_containers_total{container_type="container",exit_code="1",reason=""} 1',
    ]);
  });
});

describe("what came before", () => {
  test("a container that ended for good cannot run again", () => {
    const { statuses, reported, refused } = start();
    statuses.set(pod, { phase: "Failed", containerStatuses: [exited] });
    statuses.set(pod, { containerStatuses: [running] });
    expect(refused).toEqual([
      "terminated container web attempted illegal transition to non-terminated state",
    ]);
    expect(reported).toHaveLength(1);
    expect(statuses.get(uid1)?.phase).toBe("Failed");
  });

  test("a static pod goes on from what its mirror pod says", () => {
    const { world, statuses } = start(staticPod);
    world.registry.set(mirrorOf({ startTime: morning }));
    statuses.set(staticPod, { phase: "Running" });
    expect(statuses.get(uid1)?.startTime).toBe(morning);
  });
});

describe("probe results", () => {
  const unready = { type: "Ready", status: "False", lastTransitionTime: morning };

  test("readiness changes the container and the pod's conditions, now", () => {
    const { statuses } = start();
    statuses.set(pod, { containerStatuses: [running], conditions: [unready] });
    statuses.setReady(uid1, containerId("containerd://web"), true);
    const status = statuses.get(uid1);
    expect(status?.containerStatuses?.[0]?.ready).toBe(true);
    expect(
      status?.conditions?.map((condition) => [
        condition.type,
        condition.status,
        condition.lastTransitionTime,
      ]),
    ).toEqual([
      ["Ready", "True", noon],
      ["ContainersReady", "True", noon],
    ]);
  });

  test("startup is noted once", () => {
    const { statuses, reported } = start();
    statuses.set(pod, { containerStatuses: [running] });
    statuses.setStarted(uid1, containerId("containerd://web"), true);
    statuses.setStarted(uid1, containerId("containerd://web"), true);
    expect(reported.map(({ status }) => status.containerStatuses?.[0]?.started)).toEqual([
      undefined,
      true,
    ]);
  });

  test("results of unknown pods and containers have no effect", () => {
    const { statuses, reported } = start();
    statuses.setReady(uid1, containerId("containerd://web"), true);
    statuses.set(pod, { containerStatuses: [running] });
    statuses.setReady(uid1, containerId("containerd://other"), true);
    statuses.setStarted(uid1, containerId("containerd://other"), true);
    expect(reported).toHaveLength(1);
  });
});

/** A pod and what the runtime shows of it at some moments: anything may appear, vanish or change. */
const anyHistory = anyPod.chain((anyOne) =>
  fc.record({
    pod: fc.constant(anyOne),
    moments: fc.array(
      fc.record({ observed: anyObserved(anyOne), isTerminal: fc.boolean(), ends: fc.boolean() }),
      { minLength: 2, maxLength: 6 },
    ),
  }),
);

function anyObserved(anyOne: Pod): fc.Arbitrary<ObservedPod> {
  const seen = podContainers(anyOne).map(({ container: { name } }) =>
    fc.option(anyInstance(name), { nil: undefined }),
  );
  return fc.tuple(...seen).map((containers) => ({
    ...emptyObservedPod(uid1, "p", "ns"),
    containers: containers.filter((container) => container !== undefined),
  }));
}

function anyInstance(name: string): fc.Arbitrary<ObservedContainer> {
  return fc.record({
    id: fc.constantFrom(`containerd://${name}-0`, `containerd://${name}-1`).map(containerId),
    name: fc.constant(name),
    state: fc.constantFrom("created", "running", "exited", "unknown"),
    exitCode: fc.constantFrom(0, 1, 42),
    restartCount: fc.nat({ max: 4 }),
    image: fc.constant(""),
    imageId: fc.constant(""),
    imageRef: fc.constant(""),
    hash: fc.constant(""),
    reason: fc.constant(""),
    message: fc.constant(""),
  });
}

/** The cached status after each moment. */
function statusesOf({
  pod: anyOne,
  moments,
}: typeof anyHistory extends fc.Arbitrary<infer T> ? T : never): PodStatus[] {
  const { statuses } = start(anyOne);
  return moments.map(({ observed, isTerminal, ends }) => {
    statuses.set(anyOne, statuses.compute(anyOne, observed, { isTerminal }));
    if (ends) statuses.terminate(anyOne);
    return statuses.get(uid1) ?? {};
  });
}

function restartCounts(status: PodStatus | undefined): Map<string, number> {
  const all = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return new Map(all.map(({ name, restartCount }) => [name, restartCount]));
}

describe("whatever the runtime shows", () => {
  test("a terminal phase stays terminal", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const isTerminal = statusesOf(history).map(({ phase }) => isTerminalPhase(phase));
        expect(isTerminal).toEqual(isTerminal.toSorted((a, b) => Number(a) - Number(b)));
      }),
    );
  });

  test("restart counts never fall", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const counts = statusesOf(history).map(restartCounts);
        for (const [index, now] of counts.entries()) {
          for (const [name, before] of counts[index - 1] ?? []) {
            expect(now.get(name)).toBeGreaterThanOrEqual(before);
          }
        }
      }),
    );
  });

  test("the start time never changes", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const times = statusesOf(history).map(({ startTime }) => startTime);
        expect(new Set(times).size).toBe(1);
      }),
    );
  });
});
