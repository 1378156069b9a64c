import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuSet } from "../../../model/cpu-set.ts";
import { podUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import { mustParseQuantity } from "../../../model/quantity.ts";
import { staleContainers } from "../topology/container-ref.ts";
import { noAffinity } from "../topology/hints.ts";
import { type CpuManager, startCpuManager } from "./cpu-manager.ts";
import { cpuPolicy } from "./cpu-policy.ts";

/** Four cores of two threads each: 0 and 4, 1 and 5, and so on. */
const machine = {
  cpuCount: 8,
  socketCount: 1,
  numaNodes: [
    {
      id: 0,
      memoryBytes: 0n,
      hugePages: [],
      cores: [0, 1, 2, 3].map((core) => ({ socket: 0, cpus: [core, core + 4], uncoreCaches: [] })),
    },
  ],
};

function started(file?: string): CpuManager {
  const policy = cpuPolicy(
    {
      policy: "static",
      options: {},
      optionGates: { alpha: false, beta: true },
      reservation: mustParseQuantity("500m"),
      reservedCpus: [],
      topologyPolicy: "none",
    },
    machine,
  );
  if (!policy.ok) throw new Error(policy.error);
  const manager = startCpuManager(policy.value, {
    file,
    filePath: "/state",
    containers: new Map(),
  });
  if (!manager.ok) throw new Error(manager.error);
  return manager.value;
}

function container(name: string, cpu: string) {
  const amounts = { cpu, memory: "1Gi" };
  return { name, resources: { requests: amounts, limits: amounts } };
}

function pod(uid: string, cpu: string, initCpu?: string): Pod {
  return {
    metadata: { name: uid, namespace: "ns", uid: podUid(uid) },
    spec: {
      containers: [container("c", cpu)],
      ...(initCpu === undefined ? {} : { initContainers: [container("init", initCpu)] }),
    },
  };
}

function allocate(manager: CpuManager, { metadata, spec }: Pod) {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  return all.map((each) => manager.allocate({ metadata, spec }, each, noAffinity));
}

test("a container keeps its CPUs over a restart, and the file is written when something changed", () => {
  const manager = started();
  allocate(manager, pod("a", "2"));
  const file = manager.takeCheckpoint();
  expect(manager.takeCheckpoint()).toBeUndefined();
  const again = started(file);
  expect(again.exclusiveCpus({ podUid: "a", container: "c" })).toEqual([1, 5]);
  expect(again.takeCheckpoint()).toBeUndefined();
});

test("a container gets the CPUs of the init container before it, and they are free when both are gone", () => {
  const manager = started();
  allocate(manager, pod("a", "2", "2"));
  expect(manager.cpusFor({ podUid: "a", container: "init" })).toEqual([1, 5]);
  expect(manager.cpusFor({ podUid: "a", container: "c" })).toEqual([1, 5]);
  manager.removeStale(staleContainers([]));
  expect(manager.state.shared).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test("containers that ask for parts of CPUs share what is left", () => {
  const manager = started();
  allocate(manager, pod("a", "6"));
  allocate(manager, pod("b", "1500m"));
  expect(manager.cpusFor({ podUid: "b", container: "c" })).toEqual([0, 4]);
});

test("more CPUs than are left are refused and nothing is taken", () => {
  const manager = started();
  const before = manager.state;
  expect(allocate(manager, pod("a", "8"))).toEqual([
    { message: "not enough cpus available to satisfy request: requested=8, available=7" },
  ]);
  expect(manager.state).toBe(before);
});

test("containers that share CPUs are updated when the shared ones change", () => {
  const manager = started();
  const shares = pod("b", "1500m");
  const statuses = new Map([
    [
      "b",
      {
        containerStatuses: [
          {
            name: "c",
            image: "",
            imageID: "",
            ready: true,
            restartCount: 0,
            containerID: "containerd://id",
            state: { running: {} },
          },
        ],
      },
    ],
  ]);
  const ref = { podUid: "b", container: "c" };
  const planned = () => manager.planUpdates([shares], statuses).map(({ outcome }) => outcome);
  manager.noteApplied(ref, manager.cpusFor(ref));
  expect(planned()).toEqual([{ kind: "current" }]);
  allocate(manager, pod("a", "2"));
  expect(planned()).toEqual([{ kind: "update", cpus: [0, 2, 3, 4, 6, 7] }]);
});

test("whatever is allocated and removed, no CPU belongs to two pods and none is lost", () => {
  const step = fc.record({
    uid: fc.constantFrom("a", "b", "c", "d"),
    cpus: fc.constantFrom("1", "2", "3", "1500m"),
    initCpus: fc.constantFrom(undefined, "1", "4"),
    isRemoved: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const manager = started();
      const active = new Map<string, Pod>();
      for (const { uid, cpus, initCpus, isRemoved } of steps) {
        if (isRemoved) active.delete(uid);
        else if (!active.has(uid)) active.set(uid, pod(uid, cpus, initCpus));
        manager.removeStale(staleContainers([...active.values()]));
        const admitted = active.get(uid);
        if (admitted !== undefined) allocate(manager, admitted);
        const { shared, assignments } = manager.state;
        const perPod = Array.from(assignments.values(), (ofPod) =>
          cpuSet([...ofPod.values()].flat()),
        );
        expect([...shared, ...perPod.flat()].toSorted((a, b) => a - b)).toEqual([
          0, 1, 2, 3, 4, 5, 6, 7,
        ]);
        expect(shared).toContain(0);
      }
    }),
  );
});
