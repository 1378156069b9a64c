import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyPod } from "../../../test/kit/any-plan-input.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import { computePodStatus } from "../../core/status/pod-status.ts";
import type { Termination } from "../../core/status/terminations.ts";
import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import {
  emptyObservedPod,
  type ObservedContainer,
  type ObservedPod,
} from "../../model/observed.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import { configSourceAnnotation } from "../../model/pod-source.ts";
import { StatusManager } from "./status-manager.ts";

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

function start({ known = pod, mirror }: { known?: Pod; mirror?: Pod } = {}) {
  const heard: { status: PodStatus; version: number; isFinished: boolean }[] = [];
  const terminations: Termination[] = [];
  const manager = new StatusManager({
    clock: { nowMs: () => Date.parse(noon) },
    pods: { findByUid: () => known, findMirrorOf: () => mirror },
    onChange: (_pod, status, version, isFinished) => heard.push({ status, version, isFinished }),
    onTermination: (termination) => terminations.push(termination),
  });
  return { manager, heard, terminations };
}

describe("versions", () => {
  test("every change is heard of once, with a rising version", () => {
    const { manager, heard } = start();
    const outcomes = [
      manager.setPodStatus(pod, { phase: "Pending" }),
      manager.setPodStatus(pod, { phase: "Pending" }),
      manager.setPodStatus(pod, { phase: "Running" }),
    ];
    expect(outcomes.map(({ kind }) => kind)).toEqual(["changed", "same", "changed"]);
    expect(heard.map(({ version, status }) => [version, status.phase])).toEqual([
      [1, "Pending"],
      [2, "Running"],
    ]);
  });

  test("an equal status of a pod that is being deleted is a new version all the same", () => {
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: noon } };
    const { manager, heard } = start();
    manager.setPodStatus(deleted, { phase: "Running" });
    manager.setPodStatus(deleted, { phase: "Running" });
    expect(heard).toHaveLength(2);
  });

  test("the last version stays the last one", () => {
    const { manager, heard } = start();
    manager.terminatePod(pod);
    manager.setPodStatus(pod, { phase: "Failed", reason: "Evicted" });
    expect(heard.map(({ isFinished }) => isFinished)).toEqual([true, true]);
  });

  test("a picture that was told nothing yet does not hide what is known of a static pod", () => {
    const known = { ...pod, status: { phase: "Running", startTime: morning } };
    const { manager, heard } = start({ known, mirror: { ...pod, status: { phase: "Pending" } } });
    manager.setPodStatus(known, { phase: "Running", message: "as before" });
    expect(heard[0]?.status.startTime).toBe(morning);
  });

  test("a pod that is no longer known is forgotten", () => {
    const { manager } = start();
    manager.setPodStatus(pod, { phase: "Running" });
    manager.removeOrphanedStatuses(new Set());
    expect(manager.getPodStatus("uid-1")).toBeUndefined();
  });
});

describe("containers that end", () => {
  test("are heard of once, by the status that shows it first", () => {
    const { manager, terminations } = start();
    manager.setPodStatus(pod, { phase: "Running", containerStatuses: [running] });
    manager.setPodStatus(pod, { phase: "Running", containerStatuses: [exited] });
    manager.setPodStatus(pod, { phase: "Failed", containerStatuses: [exited] });
    manager.terminatePod(pod);
    expect(terminations).toEqual([{ kind: "regular", exitCode: 1, reason: "" }]);
  });
});

describe("what came before", () => {
  test("a container that ended for good cannot run again", () => {
    const { manager, heard } = start();
    manager.setPodStatus(pod, { phase: "Failed", containerStatuses: [exited] });
    expect(manager.setPodStatus(pod, { containerStatuses: [running] })).toEqual({
      kind: "refused",
      because: "terminated container web attempted illegal transition to non-terminated state",
    });
    expect(heard).toHaveLength(1);
    expect(manager.getPodStatus("uid-1")?.phase).toBe("Failed");
  });

  test("a static pod goes on from what its mirror pod says", () => {
    const annotations = { [configSourceAnnotation]: "file" };
    const staticPod = { ...pod, metadata: { ...pod.metadata, annotations } };
    const { manager } = start({ mirror: { ...pod, status: { startTime: morning } } });
    manager.setPodStatus(staticPod, { phase: "Running" });
    expect(manager.getPodStatus("uid-1")?.startTime).toBe(morning);
  });
});

describe("probe results", () => {
  const unready = { type: "Ready", status: "False", lastTransitionTime: morning };

  test("readiness changes the container and the pod's conditions, now", () => {
    const { manager } = start();
    manager.setPodStatus(pod, { containerStatuses: [running], conditions: [unready] });
    manager.setContainerReadiness("uid-1", "containerd://web", true);
    const status = manager.getPodStatus("uid-1");
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
    const { manager, heard } = start();
    manager.setPodStatus(pod, { containerStatuses: [running] });
    manager.setContainerStartup("uid-1", "containerd://web", true);
    manager.setContainerStartup("uid-1", "containerd://web", true);
    expect(heard.map(({ status }) => status.containerStatuses?.[0]?.started)).toEqual([
      undefined,
      true,
    ]);
  });

  test("results of unknown pods and containers have no effect", () => {
    const { manager, heard } = start();
    manager.setContainerReadiness("uid-1", "containerd://web", true);
    manager.setPodStatus(pod, { containerStatuses: [running] });
    manager.setContainerReadiness("uid-1", "containerd://other", true);
    manager.setContainerStartup("uid-1", "containerd://other", true);
    expect(heard).toHaveLength(1);
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
    ...emptyObservedPod("uid-1", "p", "ns"),
    containers: containers.filter((container) => container !== undefined),
  }));
}

function anyInstance(name: string): fc.Arbitrary<ObservedContainer> {
  return fc.record({
    id: fc.constantFrom(`containerd://${name}-0`, `containerd://${name}-1`),
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
  const { manager } = start({ known: anyOne });
  return moments.map(({ observed, isTerminal, ends }) => {
    const { status } = computePodStatus({
      pod: anyOne,
      observed,
      cachedStatus: manager.getPodStatus("uid-1"),
      isTerminal,
      startFailures: new Map(),
      probes: {
        agentStartedAtMs: 0,
        readinessProbed: new Set(),
        startupProbed: new Set(),
        readinessResults: new Map(),
        startupResults: new Map(),
      },
      resizeConditions: [],
      hostIps: [],
      primaryIpFamily: 4,
      supportsRecursiveReadOnly: false,
    });
    manager.setPodStatus(anyOne, status);
    if (ends) manager.terminatePod(anyOne);
    return manager.getPodStatus("uid-1") ?? {};
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
