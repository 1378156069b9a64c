import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { buildPod, testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { type AdmissionResult, admitted, rejected } from "../../core/admission/admission.ts";
import type { AdmissionFailure } from "../../core/devices/topology/allocation-error.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvent } from "../../ports/pod-events.ts";
import type { Faults } from "../agent/faults.ts";
import { PodTable } from "../pods/pod-table.ts";
import { NodeRoom } from "./node-room.ts";
import { PodAdmission } from "./pod-admission.ts";
import { Preemption } from "./preemption.ts";

/** A node that has room for one pod, and these others. */
class World {
  readonly table = new PodTable();
  readonly statuses = new Map<string, PodStatus>();
  readonly events: PodEvent[] = [];
  readonly kills: { readonly uid: string; readonly end: (error?: Error) => void }[] = [];
  readonly faults: string[] = [];
  asked = 0;
  others: readonly Pod[] = [];
  pressure: AdmissionResult = admitted;
  isInRuntime = false;
  refuse: (failure: AdmissionFailure) => void = () => undefined;
  readonly adopted: string[] = [];
  readonly updates: string[] = [];
  readonly #faults: Pick<Faults, "note" | "attempt"> = {
    ...loudFaults,
    note: (_error, during, uid) => void this.faults.push(`${during} ${uid}`),
  };

  readonly #shared = {
    table: this.table,
    log: silentLog,
    metrics: noMetrics,
    ports: { clock: new VirtualClock(), log: silentLog, metrics: noMetrics },
    events: { record: (_: unknown, event: PodEvent) => void this.events.push(event) },
    faults: this.#faults,
  };
  readonly #preemption = new Preemption({
    ...this.#shared,
    workers: {
      killPod: ({ metadata }) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
          this.kills.push({ uid: metadata.uid, end });
        }),
    },
    wakeups: { askToStart: () => void this.asked++ },
    lifetime: new AbortController().signal,
  });
  readonly #room = new NodeRoom({
    active: { listGranted: () => this.others },
    checks: [{ admit: () => this.pressure }],
    facts: {
      sysctls: { names: new Map(), prefixes: new Map() },
      appArmorEnabled: false,
      fieldRules: "strict",
    },
    node: {
      current: { metadata: { name: "n" }, status: { allocatable: { pods: "1", cpu: "1" } } },
    },
    preemption: this.#preemption,
    deviceStore: { nodeFor: (_, node) => node },
  });

  readonly admission: PodAdmission = new PodAdmission({
    ...this.#shared,
    statuses: {
      set: ({ metadata }, status) => {
        if (metadata.name === "unfit") throw new Error("no status");
        this.statuses.set(metadata.uid, status);
      },
    },
    observed: { has: () => this.isInRuntime },
    allocations: {
      admit: (asked) => {
        if (asked.metadata.name === "unfit") throw new Error("cannot be judged");
        return this.#room.fits(asked);
      },
      grant: () => undefined,
    },
    devices: {
      admit: (_, refuse) => {
        this.refuse = refuse;
      },
      adopt: ({ metadata }) => void this.adopted.push(metadata.uid),
    },
    workers: { updatePod: ({ updateType }) => void this.updates.push(updateType) },
  });
}

const unhonoured = testPod({
  containers: [{ name: "web" }],
  volumes: [{ name: "share", cephfs: { monitors: ["files.example"] } }],
});
const message =
  "spec.volumes[0].cephfs: not supported by this node; use the CSI driver of the storage, or mount it on the node and use hostPath";

test("a pod that uses a field that this node cannot honour has failed, by that field", () => {
  const { admission, statuses, events } = new World();
  expect(admission.admit(unhonoured)).toBe(false);
  expect(statuses.get("uid-1")).toMatchObject({
    phase: "Failed",
    reason: "UnsupportedField",
    message: `Pod was rejected: ${message}`,
  });
  expect(events).toEqual([{ type: "Warning", reason: "UnsupportedField", message }]);
});

test("a pod that already runs here is not asked again", () => {
  const world = new World();
  world.isInRuntime = true;
  expect(world.admission.admit(unhonoured)).toBe(true);
  expect(world.events).toEqual([]);
});

test("a pod that already runs here goes on though the node would refuse a new one", () => {
  const world = new World();
  world.isInRuntime = true;
  world.others = [testPod({ containers: [{ name: "c" }] }, { uid: "other", name: "other" })];
  world.pressure = rejected("Evicted", "The node had condition: [DiskPressure].");
  expect(world.admission.admit(buildPod())).toBe(true);
  expect(world.statuses.size).toBe(0);
});

test("a pod that cannot have the devices that it asks for has failed, and its worker ends", () => {
  const world = new World();
  expect(world.admission.admit(buildPod())).toBe(true);
  expect(world.statuses.size).toBe(0);
  const failure = { reason: "TopologyAffinityError", message: "too far apart" };
  world.refuse(failure);
  expect(world.statuses.get("uid-1")).toMatchObject({
    phase: "Failed",
    reason: "TopologyAffinityError",
    message: "Pod was rejected: too far apart",
  });
  expect(world.updates).toEqual(["kill"]);
});

test("a pod that already runs here keeps the devices that it has", () => {
  const world = new World();
  world.isInRuntime = true;
  world.admission.admit(buildPod());
  expect(world.adopted).toEqual(["uid-1"]);
});

test("a pod that has ended is not asked: only its clean-up is left", () => {
  const world = new World();
  expect(world.admission.admit({ ...unhonoured, status: { phase: "Failed" } })).toBe(true);
});

test("a node that is short of something refuses before it counts", () => {
  const world = new World();
  world.pressure = rejected("Evicted", "The node had condition: [MemoryPressure].");
  expect(world.admission.admit(buildPod())).toBe(false);
  expect(world.statuses.get("uid-1")).toMatchObject({ phase: "Failed", reason: "Evicted" });
});

test("a pod that can neither be judged nor refused is remembered as it was", () => {
  const world = new World();
  const unfit = buildPod({ metadata: { name: "unfit" } });
  expect(world.admission.admit(unfit)).toBe(false);
  expect(world.table.get(podUid("uid-1"))?.unfit).toBe(unfit);
  expect(world.faults).toEqual(["admission uid-1", "admission uid-1"]);
});

test("a critical pod gets its place, and waits until those that make room have ended", async () => {
  const world = new World();
  const victim = (uid: string): Pod =>
    testPod({ containers: [{ name: "c" }], priority: 0 }, { uid, name: uid });
  world.others = [victim("a")];
  const critical = testPod(
    { containers: [{ name: "c" }], priority: 2_000_001_000 },
    { uid: "critical", name: "critical", annotations: { "kubernetes.io/config.source": "file" } },
  );
  expect(world.admission.admit(critical)).toBe(true);
  expect(world.kills.map(({ uid }) => uid)).toEqual(["a"]);
  expect(world.table.get(podUid("a"))?.admission).toEqual({ roomFor: "critical" });
  expect(world.table.get(podUid("critical"))?.admission).toEqual({ roomFrom: ["default/a"] });
  expect(world.events).toMatchObject([{ reason: "Preempting" }]);
  expect(world.asked).toBe(0);
  // One that does not end in time is not waited for: its worker goes on trying.
  world.kills[0]?.end(new Error("timeout waiting to kill pod"));
  await expect.poll(() => world.asked).toBe(1);
  expect(world.table.get(podUid("a"))?.admission).toBeUndefined();
  expect(world.table.get(podUid("critical"))?.admission).toBeUndefined();
});
