import { expect, test } from "vitest";
import { admitToNode } from "../../../../test/kit/admit-to-node.ts";
import { loudFaults } from "../../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../../test/kit/no-metrics.ts";
import { testPod } from "../../../../test/kit/pods.ts";
import { silentLog } from "../../../../test/kit/silent-log.ts";
import { noPinning } from "../../../../test/kit/test-managers.ts";
import { VirtualClock } from "../../../../test/sim/virtual-clock.ts";
import type { AdmissionResult } from "../../../core/admission/admission.ts";
import { MemoryFiles } from "../../../drivers/sim/memory-files.ts";
import type { PodStatus } from "../../../model/generated/kubernetes.ts";
import { podUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { Metrics } from "../../../ports/metrics.ts";
import { PodRegistry } from "../../pods/pod-registry.ts";
import { PodTable } from "../../pods/pod-table.ts";
import { PodAllocations } from "./pod-allocations.ts";
import { createResourceRecords, type PodResourceRecords } from "./resource-records.ts";

const node = { status: { allocatable: { cpu: "2", memory: "1Gi", pods: "9" } } };
const noSwap = { controllerAvailable: false, behavior: "NoSwap", capacityBytes: 0 } as const;

function podOf(
  name: string,
  cpu: string,
  more: { status?: PodStatus; generation?: number } = {},
): Pod {
  const pod = testPod({
    containers: [{ name: "web", resources: { requests: { cpu }, limits: { cpu: "4" } } }],
  });
  const { status = pod.status, generation = 1 } = more;
  return { ...pod, status, metadata: { ...pod.metadata, name, uid: podUid(name), generation } };
}

/** A node of two CPUs, and its pods. */
class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly events: string[] = [];
  readonly synced: string[] = [];
  readonly counted: string[] = [];
  readonly table = new PodTable();
  readonly pods = new PodRegistry(this.table);
  readonly records: PodResourceRecords;
  readonly allocations: PodAllocations;
  readonly files: MemoryFiles;
  readonly sources = { areAllReady: true };

  constructor(files: MemoryFiles = new MemoryFiles()) {
    this.files = files;
    const count: Metrics["increment"] = (name, labels = {}) =>
      void this.counted.push([name, ...Object.values(labels)].join(" "));
    const { table, clock } = this;
    this.records = createResourceRecords({
      table,
      files,
      clock,
      log: silentLog,
      rootFolder: "/data",
    });
    this.allocations = new PodAllocations({
      records: this.records,
      clock: this.clock,
      settings: {
        runtimeSettings: { cgroupVersion: 1, swap: noSwap },
        node: { managers: noPinning },
      },
      table: this.table,
      room: { fits: (pod) => this.#fits(pod) },
      sources: this.sources,
      wakeups: { look: (uid) => void this.synced.push(uid) },
      events: { record: (_, { reason }) => void this.events.push(reason) },
      faults: loudFaults,
      metrics: { ...noMetrics, increment: count },
    });
  }

  #fits(pod: Pod): AdmissionResult {
    const others = this.pods.list().filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
    const granted = others.map((other) => this.allocations.allocatedPod(other));
    return admitToNode(pod, granted, node);
  }

  add(...pods: readonly Pod[]): void {
    for (const pod of pods) {
      this.pods.set(pod);
      this.allocations.grant(pod);
    }
    this.allocations.noteAdded(pods);
  }

  update(pod: Pod): void {
    const before = this.pods.get(pod.metadata.uid);
    this.pods.set(pod);
    this.allocations.noteUpdated(before, pod);
  }

  remove(uid: string): void {
    const pod = this.pods.get(podUid(uid));
    if (pod === undefined) return;
    this.pods.remove(pod);
    this.allocations.noteRemoved([pod]);
  }

  cpuOf(uid: string): string | undefined {
    const pod = this.pods.get(podUid(uid));
    const allocated = pod && this.allocations.allocatedPod(pod);
    return allocated?.spec.containers[0]?.resources?.requests?.["cpu"];
  }

  /** What is reported of the pod's resizes. */
  conditionOf(uid: string): string {
    return this.records.resizes
      .podConditions(podUid(uid))
      .map(({ type, reason = "" }) => `${type} ${reason}`.trim())
      .join(", ");
  }
}

test("a resize that fits is granted at once", () => {
  const world = new World();
  world.add(podOf("a", "500m"));
  world.update(podOf("a", "1", { generation: 2 }));
  expect(world.cpuOf("a")).toBe("1");
  expect(world.conditionOf("a")).toBe("PodResizeInProgress");
  expect(world.events).toEqual(["ResizeStarted"]);
  expect(world.synced).toEqual(["a"]);
  expect(world.counted).toEqual([
    "kubelet_container_requested_resizes_total cpu requests increase",
  ]);
});

test("a resize that does not fit waits, is reported once, and is granted when a pod goes", () => {
  const world = new World();
  world.add(podOf("a", "500m"), podOf("b", "1"));
  world.update(podOf("a", "1500m", { generation: 2 }));
  expect(world.cpuOf("a")).toBe("500m");
  expect(world.conditionOf("a")).toBe("PodResizePending Deferred");
  world.allocations.noteEnded();
  expect(world.events).toEqual(["ResizeDeferred"]);
  world.remove("b");
  expect(world.cpuOf("a")).toBe("1500m");
  expect(world.conditionOf("a")).toBe("PodResizeInProgress");
  expect(world.events).toEqual(["ResizeDeferred", "ResizeStarted"]);
  expect(world.counted.at(-1)).toBe("kubelet_pod_deferred_accepted_resizes_total pods_removed");
});

test("a resize that waits is granted when another pod ends or shrinks", () => {
  const world = new World();
  const b = podOf("b", "1", { status: { phase: "Running" } });
  world.add(podOf("a", "500m"), b);
  world.update(podOf("a", "1500m", { generation: 2 }));
  world.pods.remove(podOf("b", "1"));
  world.allocations.noteStatus(b, podOf("b", "1", { status: { phase: "Succeeded" } }));
  expect(world.cpuOf("a")).toBe("1500m");
});

test("a resize that is taken back no longer waits", () => {
  const world = new World();
  world.add(podOf("a", "500m"), podOf("b", "1"));
  world.update(podOf("a", "1500m", { generation: 2 }));
  world.update(podOf("a", "500m", { generation: 3 }));
  expect(world.conditionOf("a")).toBe("");
});

test("a resize that came before every source was ready is tried when they are", () => {
  const world = new World();
  world.sources.areAllReady = false;
  world.add(podOf("a", "500m"));
  world.update(podOf("a", "1500m", { generation: 2 }));
  expect(world.cpuOf("a")).toBe("500m");
  world.sources.areAllReady = true;
  world.add();
  expect(world.cpuOf("a")).toBe("1500m");
});

test("what waits is tried every three minutes, and the first time after half a minute", async () => {
  const world = new World();
  world.sources.areAllReady = false;
  world.add(podOf("a", "500m"), podOf("b", "1"));
  const stop = new AbortController();
  const running = world.allocations.run(stop.signal);
  world.update(podOf("a", "1500m", { generation: 2 }));
  expect(world.conditionOf("a")).toBe("");
  world.sources.areAllReady = true;
  await world.clock.advance(29_000);
  expect(world.conditionOf("a")).toBe("");
  await world.clock.advance(1_000);
  expect(world.conditionOf("a")).toBe("PodResizePending Deferred");
  world.pods.remove(podOf("b", "1"));
  await world.clock.advance(179_000);
  expect(world.cpuOf("a")).toBe("500m");
  await world.clock.advance(1_000);
  expect(world.cpuOf("a")).toBe("1500m");
  expect(world.counted.at(-1)).toBe("kubelet_pod_deferred_accepted_resizes_total periodic_retry");
  stop.abort();
  await running;
});

test("a resize that was asked for while no agent ran is carried out by the next one", async () => {
  const first = new World();
  first.add(podOf("a", "500m"));
  await first.allocations.flush();
  const next = new World(first.files);
  await next.allocations.load();
  const conditions = [{ type: "PodResizePending", status: "True", reason: "Deferred" }];
  next.add(podOf("a", "1", { generation: 2, status: { phase: "Running", conditions } }));
  expect(next.cpuOf("a")).toBe("1");
  expect(next.conditionOf("a")).toBe("PodResizeInProgress");
});

test("pods that are gone are forgotten", async () => {
  const world = new World();
  world.add(podOf("a", "500m"), podOf("b", "1"));
  world.table.delete(podUid("a"));
  world.pods.set(podOf("a", "1"));
  expect(world.cpuOf("a")).toBe("1");
});
