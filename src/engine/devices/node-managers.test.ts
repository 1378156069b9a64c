import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testManagers } from "../../../test/kit/test-managers.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import {
  defaultManagerOptions,
  type ManagerOptions,
  managerSettings,
} from "../../app/manager-options.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { simTopology } from "../../drivers/sim/sim-topology.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { containerId, type PodUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { wholeQuantity } from "../../model/quantity.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { PodTable } from "../pods/pod-table.ts";
import { CpuReconciler } from "./cpu-reconciler.ts";
import { DeviceAdmission } from "./device-admission.ts";
import { Holders } from "./holders.ts";
import type { NodeManagers } from "./node-managers.ts";

const options: ManagerOptions = {
  ...defaultManagerOptions,
  cpu: { ...defaultManagerOptions.cpu, policy: "static", reserved: "0-59" },
};

class CountedFiles extends MemoryFiles {
  writes = 0;

  override async writeFile(path: string, data: Uint8Array | string): Promise<void> {
    this.writes++;
    await super.writeFile(path, data);
  }
}

class CountedClock extends VirtualClock {
  timers = 0;

  override startTimer(ms: number, onTime: () => void): { stop(): void } {
    this.timers++;
    return super.startTimer(ms, onTime);
  }
}

class World {
  readonly table: PodTable = new PodTable();
  readonly metrics: MetricsRegistry = new MetricsRegistry(metricDefinitions);
  readonly files: MemoryFiles;
  readonly managers: NodeManagers;
  readonly admission: DeviceAdmission;
  readonly refusals: string[] = [];
  readonly clock: CountedClock = new CountedClock();
  readonly observed: ReturnType<typeof this.table.writer<"observed">> =
    this.table.writer("observed");
  areAllReady = true;
  asked = 0;
  looks = 0;
  readonly #wanted = this.table.writer("wanted");

  constructor(files = new MemoryFiles(), given = options) {
    const { table } = this;
    this.files = files;
    const active = new ActivePods(table, loudFaults);
    const reservation = new Map([["cpu", wholeQuantity(60n, "DecimalSI")]]);
    const { managers, ...counted } = testManagers({
      table,
      files,
      clock: this.clock,
      metrics: this.metrics,
      settings: { node: { managers: managerSettings(given, simTopology, reservation) } },
      holders: new Holders({ table, active, sources: this }),
      wakeups: {
        lookAtCpus: () => void this.looks++,
        look: () => undefined,
        updateNode: () => undefined,
      },
    });
    this.managers = managers;
    this.admission = new DeviceAdmission({
      ...counted,
      table,
      managers: this.managers,
      active,
      faults: loudFaults,
      wakeups: { askToStart: () => void this.asked++ },
      clock: this.clock,
      log: silentLog,
      lifetime: new AbortController().signal,
    });
  }

  want(pod: Pod): void {
    this.#wanted.set(pod.metadata.uid, pod);
  }

  drop(uid: PodUid): void {
    this.#wanted.set(uid, undefined);
  }

  admit(pod: Pod): void {
    this.want(pod);
    this.admission.admit(pod, ({ reason, message }) => {
      this.refusals.push(`${pod.metadata.uid} ${reason}: ${message}`);
    });
  }

  /** The series of metrics whose names begin so. */
  counted(beginning: string): readonly string[] {
    this.managers.collectMetrics();
    const text = this.metrics.text((name) => name.startsWith(beginning));
    return text.split("\n").filter((line) => line !== "" && !/^#|_bucket/.test(line));
  }

  async state(): Promise<{ defaultCpuSet: string; entries?: object }> {
    const text = await this.files.readText("/data/cpu_manager_state");
    return JSON.parse(text ?? "{}") as { defaultCpuSet: string; entries?: object };
  }
}

function guaranteed(uid: string, cpu: string): Pod {
  const amounts = { cpu, memory: "1Mi" };
  const pod = testPod({
    containers: [{ name: "main", resources: { requests: amounts, limits: amounts } }],
  });
  return { ...pod, metadata: { ...pod.metadata, uid: uid as PodUid } };
}

test("pods get CPUs one after the other, and wait until then; one for which there are none left is refused", async () => {
  const world = new World();
  await world.managers.start();
  const [first, second] = [guaranteed("a", "3"), guaranteed("b", "2")];
  world.admit(first);
  world.admit(second);
  expect(world.table.get(first.metadata.uid)?.devices).toEqual({ isAwaited: true });
  expect(world.table.get(second.metadata.uid)?.devices).toEqual({ isAwaited: true });
  await world.admission.idle();
  expect(world.table.get(first.metadata.uid)?.devices).toBeUndefined();
  expect(world.asked).toBe(2);
  expect(world.refusals).toEqual([
    "b UnexpectedAdmissionError: Allocate failed due to not enough cpus available to satisfy request: requested=2, available=1, which is unexpected",
  ]);
  expect(world.managers.place(first, { name: "main" })).toEqual({
    cpusetCpus: "60-62",
    cpusetMems: "",
    hasExclusiveCpus: true,
  });
  expect(world.managers.place(second, { name: "main" })?.hasExclusiveCpus).toBe(false);
  expect(await world.state()).toMatchObject({ entries: { a: { main: "60-62" } } });
});

test("a container with CPUs of its own keeps its quota where the feature gate says so", async () => {
  const gates = { ...options.gates, keepsQuota: true };
  const world = new World(new MemoryFiles(), { ...options, gates });
  await world.managers.start();
  const pod = guaranteed("a", "3");
  world.admit(pod);
  await world.admission.idle();
  expect(world.managers.place(pod, { name: "main" })).toEqual({
    cpusetCpus: "60-62",
    cpusetMems: "",
    hasExclusiveCpus: false,
  });
  expect(world.managers.podIsFreeOfQuota(pod)).toBe(false);
});

test("a pod without CPUs of its own does not wait, and a part of a CPU is not one's own", async () => {
  const world = new World();
  await world.managers.start();
  const pod = guaranteed("a", "1500m");
  world.admit(pod);
  expect(world.table.get(pod.metadata.uid)?.devices).toBeUndefined();
});

test("the next agent knows who has which, before and after all sources have delivered", async () => {
  const before = new World();
  await before.managers.start();
  const pod = guaranteed("a", "3");
  before.admit(pod);
  await before.admission.idle();

  const world = new World(before.files);
  world.areAllReady = false;
  await world.managers.start();
  world.admit(guaranteed("b", "2"));
  await world.admission.idle();
  expect(world.refusals).toHaveLength(1);
  expect(world.managers.place(pod, { name: "main" })?.cpusetCpus).toBe("60-62");
  // No source has the first pod: it is gone.
  world.areAllReady = true;
  world.admit(guaranteed("c", "4"));
  await world.admission.idle();
  expect(world.refusals).toHaveLength(1);
  expect(await world.state()).toMatchObject({ entries: { c: { main: "60-63" } } });
});

test("a pod that runs here keeps what it has, though it cannot get all that it asks for", async () => {
  const before = new World();
  await before.managers.start();
  before.admit(guaranteed("a", "3"));
  await before.admission.idle();
  const world = new World(before.files);
  await world.managers.start();
  const pod = guaranteed("a", "3");
  const more = { ...pod.spec.containers[0], name: "more" };
  const grown = { ...pod, spec: { ...pod.spec, containers: [...pod.spec.containers, more] } };
  world.want(grown);
  world.admission.adopt(grown);
  await world.admission.idle();
  expect(world.managers.place(pod, { name: "main" })?.cpusetCpus).toBe("60-62");
  expect(world.managers.isFreeOfQuota(grown, { name: "more" })).toBe(false);
});

test("a pod waits for what one that still runs has, though no source wants that one any more", async () => {
  const world = new World();
  await world.managers.start();
  const [before, after] = [guaranteed("a", "3"), guaranteed("b", "3")];
  world.admit(before);
  await world.admission.idle();
  const { uid, name, namespace } = before.metadata;
  const sandbox = { id: "s", state: "ready", attempt: 0, network: "pod", createdAtMs: 0 } as const;
  const container = {
    id: containerId("containerd://1"),
    name: "main",
    state: "running",
    exitCode: 0,
    image: "",
    imageId: "",
    imageRef: "",
    hash: "",
    restartCount: 0,
    reason: "",
    message: "",
  } as const;
  const empty = { ...emptyObservedPod(uid, name, namespace), sandboxes: [sandbox] };
  world.observed.set(uid, { state: { ...empty, containers: [container] } });
  world.drop(uid);
  world.admit(after);
  await world.clock.advance(5000);
  expect(world.refusals).toEqual([]);
  expect(world.table.get(after.metadata.uid)?.devices).toEqual({ isAwaited: true });
  // Its sandbox, which holds nothing, may be left for as long as the pod is.
  world.observed.set(uid, { state: empty });
  await world.clock.advance(2000);
  expect(world.table.get(after.metadata.uid)?.devices).toBeUndefined();
  expect(world.managers.place(after, { name: "main" })?.cpusetCpus).toBe("60-62");
});

test("a pod that ended while it waited gets nothing, and one that has ended gives back what it had", async () => {
  const world = new World();
  await world.managers.start();
  const pod = guaranteed("a", "3");
  world.admit(pod);
  world.drop(pod.metadata.uid);
  await world.admission.idle();
  expect(await world.state()).not.toHaveProperty("entries");
  world.admit(pod);
  await world.admission.idle();
  const { looks } = world;
  await world.managers.release(pod.metadata.uid);
  expect(world.looks).toBe(looks + 1);
  expect((await world.state()).defaultCpuSet).toBe("0-63");
});

test("a pod that came back gets again what the end of its former life took back, before it starts", async () => {
  const world = new World();
  await world.managers.start();
  const pod = guaranteed("a", "3");
  world.admit(pod);
  await world.admission.idle();
  await world.managers.release(pod.metadata.uid);
  expect(await world.state()).not.toHaveProperty("entries");
  expect(await world.admission.complete(pod)).toBeUndefined();
  expect((await world.state()).entries).toEqual({ a: { main: "60-62" } });
  const other = guaranteed("b", "3");
  world.want(other);
  expect(await world.admission.complete(other)).toMatchObject({ reason: expect.any(String) });
});

test("the file of another policy keeps the agent from starting, and says what to do", async () => {
  const world = new World();
  const none = '{"policyName":"none","defaultCpuSet":"","checksum":0}';
  await world.files.writeFile("/data/cpu_manager_state", none);
  await expect(world.managers.start()).rejects.toThrow(
    'configured policy "static" differs from state checkpoint policy "none", please drain this node and delete the CPU manager checkpoint file "/data/cpu_manager_state" before restarting Kubelet: remove /data/cpu_manager_state once no pod runs here',
  );
});

test("what is handed out and refused is counted under the kubelet's names", async () => {
  const world = new World(new MemoryFiles(), {
    ...options,
    topology: { ...options.topology, policy: "single-numa-node", scope: "container" },
    cpu: { ...options.cpu, options: { "full-pcpus-only": "true" } },
  });
  await world.managers.start();
  world.admit(guaranteed("a", "3"));
  world.admit(guaranteed("b", "2"));
  world.admit(guaranteed("c", "500m"));
  await world.admission.idle();
  expect(world.refusals).toHaveLength(1);
  expect(world.counted("kubelet_cpu_manager")).toEqual([
    'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 0',
    'kubelet_cpu_manager_allocation_per_numa{numa_node="1"} 3',
    "kubelet_cpu_manager_exclusive_cpu_allocation_count 3",
    "kubelet_cpu_manager_pinning_errors_total 0",
    "kubelet_cpu_manager_pinning_requests_total 1",
    "kubelet_cpu_manager_shared_pool_size_millicores 1000",
  ]);
  expect(world.counted("kubelet_topology_manager")).toEqual([
    "kubelet_topology_manager_admission_duration_ms_sum 0",
    "kubelet_topology_manager_admission_duration_ms_count 3",
    "kubelet_topology_manager_admission_errors_total 1",
    "kubelet_topology_manager_admission_requests_total 3",
  ]);
  const count = "kubelet_container_aligned_compute_resources_count";
  const failures = "kubelet_container_aligned_compute_resources_failure_count";
  expect(world.counted("kubelet_container_aligned")).toEqual([
    `${count}{scope="container",boundary="numa_node"} 2`,
    `${count}{scope="pod",boundary="numa_node"} 0`,
    `${count}{scope="container",boundary="physical_cpu"} 1`,
    `${count}{scope="container",boundary="uncore_cache"} 1`,
    `${failures}{scope="container",boundary="numa_node"} 1`,
    `${failures}{scope="pod",boundary="numa_node"} 0`,
    `${failures}{scope="container",boundary="physical_cpu"} 0`,
  ]);
});

test("with the policy none only pods are counted", async () => {
  const world = new World(new MemoryFiles(), defaultManagerOptions);
  await world.managers.start();
  world.admit(guaranteed("a", "3"));
  await world.admission.idle();
  expect(world.counted("kubelet_cpu_manager").filter((line) => !line.endsWith(" 0"))).toEqual([]);
  expect(world.counted("kubelet_topology_manager_admission_requests")).toEqual([
    "kubelet_topology_manager_admission_requests_total 1",
  ]);
});

test("with the policies none a pod costs no write, no call and no timer, and no loop keeps running", async () => {
  const files = new CountedFiles();
  const world = new World(files, defaultManagerOptions);
  await world.managers.start();
  const writesAtStart = files.writes;
  const pod = guaranteed("a", "3");
  world.admit(pod);
  // It does not even wait for its turn.
  expect(world.table.get(pod.metadata.uid)?.devices).toBeUndefined();
  const container = { name: "main" };
  expect(world.managers.place(pod, container)).toBeUndefined();
  expect(await world.managers.deviceOptions(pod, container)).toEqual({ ok: true });
  await world.managers.noteStarting(pod, container, "id");
  await world.managers.release(pod.metadata.uid);
  const settings = {
    node: { managers: managerSettings(defaultManagerOptions, simTopology, new Map()) },
  };
  const runtime = { updateContainerResources: () => Promise.reject(new Error("a call")) };
  const active = { list: () => [pod] };
  const { managers, clock } = world;
  const deps = { managers, clock, settings, active, runtime, log: silentLog };
  const reconciler = new CpuReconciler(deps);
  await reconciler.run(new AbortController().signal);
  expect(files.writes).toBe(writesAtStart);
  expect(world.clock.timers).toBe(0);
  expect(world.looks).toBe(0);
});
