import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { idleManagers } from "../../../test/kit/test-managers.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { CgroupsV2 } from "../../drivers/linux/cgroups-v2.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { NodePodCgroups, type PodCgroupSettings } from "./pod-cgroups.ts";

const files = [
  "cpu.weight",
  "cpu.max",
  "memory.max",
  "pids.max",
  "cgroup.subtree_control",
  "memory.min",
  "memory.low",
];

function podOf(uid: string, resources: ResourceRequirements): Pod {
  const metadata = { name: uid, namespace: "ns", uid };
  return buildPod({ metadata, spec: { containers: [{ name: "c", resources }] } });
}

const guaranteed = podOf("g", {
  requests: { cpu: "250m", memory: "64Mi" },
  limits: { cpu: "250m", memory: "64Mi" },
});
const burstable = podOf("b", { requests: { cpu: "100m" }, limits: { memory: "128Mi" } });
const bestEffort = podOf("e", {});

describe("a tree as a kernel with cgroup v2 has it", () => {
  let folder: string;
  let observed: string[];

  /** A kernel fills a new cgroup with files; a plain folder has to be given them. */
  class KernelTree extends CgroupsV2 {
    override async create(path: string, resources: CgroupResources): Promise<void> {
      const parts = path.split("/").slice(1);
      for (const index of parts.keys()) makeCgroup(`/${parts.slice(0, index + 1).join("/")}`);
      await super.create(path, resources);
    }
  }

  function makeCgroup(path: string): void {
    mkdirSync(join(folder, path), { recursive: true });
    const controllers = "cpuset cpu io memory hugetlb pids";
    writeFileSync(join(folder, path, "cgroup.controllers"), controllers);
    for (const file of files) {
      writeFileSync(join(folder, path, file), "", { flag: "a" });
    }
  }

  function textOf(path: string, file: string): string {
    return readFileSync(join(folder, path, file), "utf8");
  }

  function create(more: Partial<PodCgroupSettings> = {}, pods?: readonly Pod[]): NodePodCgroups {
    return new NodePodCgroups({
      hostCgroups: new KernelTree({ root: "/kubepods", mountPoint: folder, hugePageSizes: [] }),
      settings: {
        driver: "cgroupfs",
        root: ["kubepods"],
        cpuQuota: { enforceCpuLimits: true, cpuPeriodUs: 100_000 },
        rootResources: { cpuShares: 2048, memoryBytes: 1_073_741_824n, pidsLimit: 1000 },
        podPidsLimit: 50,
        ...more,
      },
      active: { listGranted: () => pods ?? [guaranteed, burstable, bestEffort] },
      managers: idleManagers(),
      lifetime: new AbortController().signal,
      clock: new VirtualClock(),
      metrics: {
        observe: (name, _, labels) => observed.push(`${name} ${labels?.["operation_type"]}`),
        set: (name, value) => observed.push(`${name} ${value}`),
      },
    });
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-v2-"));
    makeCgroup("/");
    observed = [];
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  test("pods of all classes get what Kubernetes gives them", async () => {
    const cgroups = create();
    for (const pod of [guaranteed, burstable, bestEffort]) await cgroups.ensure(pod);
    const valuesOf = (path: string): readonly string[] =>
      files.slice(0, 4).map((file) => textOf(path, file));
    expect(valuesOf("/kubepods")).toEqual(["79", "", "1073741824", "1000"]);
    expect(valuesOf("/kubepods/podg")).toEqual(["10", "25000 100000", "67108864", "50"]);
    expect(valuesOf("/kubepods/burstable")).toEqual(["4", "", "", ""]);
    expect(valuesOf("/kubepods/burstable/podb")).toEqual(["4", "", "134217728", "50"]);
    expect(valuesOf("/kubepods/besteffort")).toEqual(["1", "", "", ""]);
    expect(valuesOf("/kubepods/besteffort/pode")).toEqual(["1", "", "", "50"]);
    expect(observed).toContain("kubelet_cgroup_manager_duration_seconds create");
    expect(cgroups.podPaths()).toEqual(
      new Map([
        ["g", "/kubepods/podg"],
        ["b", "/kubepods/burstable/podb"],
        ["e", "/kubepods/besteffort/pode"],
      ]),
    );
  });

  test("the cgroup that a pod has follows the pod", async () => {
    const cgroups = create();
    const more = { cpu: "500m", memory: "128Mi" };
    await cgroups.ensure(guaranteed);
    await cgroups.ensure(podOf("g", { requests: more, limits: more }));
    expect(textOf("/kubepods/podg", "cpu.max")).toBe("50000 100000");
    expect(textOf("/kubepods/podg", "memory.max")).toBe("134217728");
  });

  test("a root that is there keeps its limits until they are enforced", async () => {
    makeCgroup("/kubepods");
    const cgroups = create();
    await cgroups.ensureShared();
    expect(textOf("/kubepods", "memory.max")).toBe("");
    await cgroups.enforceRoot();
    expect(textOf("/kubepods", "memory.max")).toBe("1073741824");
  });

  test("the classes follow the pods that run", async () => {
    const pods = [burstable];
    const cgroups = create({}, pods);
    await cgroups.ensureShared();
    expect(textOf("/kubepods/burstable", "cpu.weight")).toBe("4");
    pods.push(podOf("b2", { requests: { cpu: "2" } }));
    await cgroups.ensureShared();
    expect(textOf("/kubepods/burstable", "cpu.weight")).toBe("82");
  });

  test("memory can be kept from the lower classes", async () => {
    const memoryReserve = { percent: 100, allocatableBytes: 1_000_000_000n };
    await create({ memoryReserve }).ensureShared();
    expect(textOf("/kubepods/burstable", "memory.max")).toBe(String(1_000_000_000 - 67_108_864));
  });

  test("with MemoryQoS requested memory is kept, and above pods for all that lie there", async () => {
    const memoryQos = { reservesRequests: true, throttlingFactor: 0.9, reservedBytes: 0n };
    const asking = podOf("b", { requests: { memory: "32Mi" } });
    const cgroups = create({ memoryQos }, [guaranteed, asking]);
    for (const pod of [guaranteed, asking]) await cgroups.ensure(pod);
    const keptBy = (path: string): readonly string[] =>
      ["memory.min", "memory.low"].map((file) => textOf(path, file));
    expect(keptBy("/kubepods/podg")).toEqual(["67108864", ""]);
    expect(keptBy("/kubepods/burstable/podb")).toEqual(["", "33554432"]);
    expect(keptBy("/kubepods")).toEqual(["100663296", ""]);
    expect(keptBy("/kubepods/burstable")).toEqual(["", "33554432"]);
    expect(observed).toContain("kubelet_memory_qos_node_memory_min_bytes 67108864");
    expect(observed).toContain("kubelet_memory_qos_node_memory_low_bytes 33554432");
  });

  test("without cgroups by class nothing is made, and the runtime decides", async () => {
    const cgroups = create({ perQos: false });
    await cgroups.ensure(guaranteed);
    expect(cgroups.path(guaranteed)).toBe("");
    expect(cgroups.exists(guaranteed)).toBe(true);
    expect(cgroups.list()).toEqual([]);
    expect(cgroups.inForce(guaranteed)).toBeUndefined();
    expect(() => textOf("/kubepods", "cpu.weight")).toThrow("ENOENT");
  });

  test("systemd's names are slices", () => {
    const cgroups = create({ driver: "systemd" });
    expect(cgroups.path(burstable)).toBe(
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podb.slice",
    );
    expect(cgroups.classPaths).toEqual([
      "/kubepods.slice/kubepods-burstable.slice",
      "/kubepods.slice/kubepods-besteffort.slice",
    ]);
  });
});
