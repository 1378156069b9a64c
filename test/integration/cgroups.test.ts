import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { AgentClient } from "../../src/cli/agent-client.ts";
import type { ResourceRequirements } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 97;
const mebibyte = 2 ** 20;
const pidsLimit = 60;
const unlimited = 9_223_372_036_854_771_712;

describe.runIf(existsSync("/sys/fs/cgroup/memory"))("the cgroups of a node", () => {
  let world: RuntimeWorld;
  let folder: string;
  let systemCgroup: string;
  let client: AgentClient;
  let agent: BerthProcess;

  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network });
    folder = makeTestFolder("cgroups");
    systemCgroup = `${world.cgroupRoot}-system`;
    for (const controller of controllers()) mkdirSync(join(cgroupBase, controller, systemCgroup));
    mkdirSync(join(folder, "manifests"));
    writeFileSync(join(folder, "resolv.conf"), "nameserver 10.1.2.3\n");
    writeFileSync(join(folder, "kubelet.yaml"), configText());
    const rootDir = join(folder, "root");
    client = new AgentClient(join(rootDir, "berth.sock"));
    agent = new BerthProcess([
      "kubelet",
      `--config=${join(folder, "kubelet.yaml")}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(folder, "pki")}`,
      "--hostname-override=node",
    ]);
    await agent.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
  });

  afterAll(async () => {
    await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(60_000));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    removeCgroups(world.cgroupRoot);
    for (const controller of controllers()) rmdirSync(join(cgroupBase, controller, systemCgroup));
    await world.close();
    await removeFolder(folder);
  });

  beforeEach(() => {
    onTestFailed(() => console.error(agent.stderr));
  });

  function configText(): string {
    return JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodPath: "manifests",
      podLogsDir: "logs",
      resolvConf: "resolv.conf",
      containerRuntimeEndpoint: world.containerd.endpoint,
      cgroupRoot: world.cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      enableServer: false,
      healthzPort: 0,
      makeIPTablesUtilChains: false,
      evictionHard: {},
      podPidsLimit: pidsLimit,
      kubeReserved: { cpu: "200m", memory: "100Mi", pid: "100" },
      systemReserved: { cpu: "100m", memory: "64Mi" },
      systemReservedCgroup: systemCgroup,
      enforceNodeAllocatable: ["pods", "system-reserved"],
    });
  }

  async function run(name: string, resources: ResourceRequirements): Promise<Pod> {
    const containers = [shell("main", untilStopped, { resources })];
    writeFileSync(join(folder, `manifests/${name}.json`), podManifest(name, { containers }));
    return await waitForPod(client, `${name}-node`, isReady);
  }

  /** The values of a cgroup below that of all pods: shares, quota, memory limit, PIDs. */
  function valuesOf(path: string): Readonly<Record<string, number>> {
    const at = `${world.cgroupRoot}/kubepods${path}`;
    return {
      shares: numberIn("cpu", at, "cpu.shares"),
      quota: numberIn("cpu", at, "cpu.cfs_quota_us"),
      memory: numberIn("memory", at, "memory.limit_in_bytes"),
      pids: numberIn("pids", at, "pids.max"),
    };
  }

  function oomScoreOf(path: string, containerId: string): number {
    const at = `${world.cgroupRoot}/kubepods${path}/${containerId}`;
    const [pid = ""] = textIn("cpu", at, "cgroup.procs").split("\n");
    return Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
  }

  test("pods of all classes side by side have what Kubernetes gives them", async () => {
    const guaranteed = await run("guaranteed", {
      requests: { cpu: "250m", memory: "64Mi" },
      limits: { cpu: "250m", memory: "64Mi" },
    });
    const burstable = await run("burstable", {
      requests: { cpu: "100m", memory: "32Mi" },
      limits: { memory: "128Mi" },
    });
    const capped = await run("capped", {
      requests: { cpu: "50m" },
      limits: { cpu: "150m", memory: "96Mi" },
    });
    const bestEffort = await run("besteffort", {});
    const paths = {
      guaranteed: `/pod${guaranteed.metadata.uid}`,
      burstable: `/burstable/pod${burstable.metadata.uid}`,
      capped: `/burstable/pod${capped.metadata.uid}`,
      bestEffort: `/besteffort/pod${bestEffort.metadata.uid}`,
    };
    const pids = pidsLimit;
    expect(valuesOf(paths.guaranteed)).toEqual({
      shares: 256,
      quota: 25_000,
      memory: 64 * mebibyte,
      pids,
    });
    expect(valuesOf(paths.burstable)).toEqual({
      shares: 102,
      quota: -1,
      memory: 128 * mebibyte,
      pids,
    });
    expect(valuesOf(paths.capped)).toEqual({
      shares: 51,
      quota: 15_000,
      memory: 96 * mebibyte,
      pids,
    });
    expect(valuesOf(paths.bestEffort)).toEqual({ shares: 2, quota: -1, memory: unlimited, pids });
    // The class weighs what its pods ask for together.
    expect(valuesOf("/burstable")).toMatchObject({ shares: 153, memory: unlimited });
    expect(valuesOf("/besteffort")).toMatchObject({ shares: 2, memory: unlimited });
    const ids = await containerIds();
    // Where the runtime may not lower it, it stays at the runtime's own.
    const lowest = Math.max(-997, numberOf("/proc/self/oom_score_adj"));
    expect(oomScoreOf(paths.guaranteed, ids.get(guaranteed.metadata.uid) ?? "")).toBe(lowest);
    const burstableScore = 1000 - Math.trunc((1000 * 32 * mebibyte) / machineMemory());
    expect(oomScoreOf(paths.burstable, ids.get(burstable.metadata.uid) ?? "")).toBe(
      Math.min(burstableScore, 999),
    );
    expect(oomScoreOf(paths.bestEffort, ids.get(bestEffort.metadata.uid) ?? "")).toBe(1000);
  });

  test("all pods together have what is not reserved, and the system what is", () => {
    const milliCpu = availableParallelism() * 1000 - 300;
    const maxPids = Math.min(
      numberOf("/proc/sys/kernel/pid_max"),
      numberOf("/proc/sys/kernel/threads-max"),
    );
    expect(valuesOf("")).toMatchObject({
      shares: Math.trunc((milliCpu * 1024) / 1000),
      memory: pageOf(machineMemory() - 164 * mebibyte),
      pids: maxPids - 100,
    });
    expect(numberIn("cpu", systemCgroup, "cpu.shares")).toBe(102);
    expect(numberIn("memory", systemCgroup, "memory.limit_in_bytes")).toBe(64 * mebibyte);
  });

  test("an OOM kill is distinguished from a failure", async () => {
    const limits = { memory: "32Mi" };
    const write = (name: string, script: string): void => {
      const containers = [shell("main", script, { resources: { limits } })];
      const manifest = podManifest(name, { containers, restartPolicy: "Never" });
      writeFileSync(join(folder, `manifests/${name}.json`), manifest);
    };
    write("hog", "exec tail /dev/zero");
    write("failing", "exit 137");
    const stateOf = async (name: string) => {
      const pod = await waitForPod(
        client,
        `${name}-node`,
        ({ status }) => status?.phase === "Failed",
      );
      return pod.status?.containerStatuses?.[0]?.state?.terminated;
    };
    expect(await stateOf("hog")).toMatchObject({ reason: "OOMKilled", exitCode: 137 });
    expect(await stateOf("failing")).toMatchObject({ reason: "Error", exitCode: 137 });
    await expect
      .poll(() => agent.stderr, { timeout: 60_000 })
      .toContain("the kernel killed a process to get memory back");
  });

  test("a fork bomb stays within its limit, and the agent answers", async () => {
    const script = "trap 'exit 0' TERM; bomb() { bomb | bomb & }; bomb; sleep 3600 & wait";
    const resources = { limits: { cpu: "100m", memory: "64Mi" } };
    const containers = [shell("main", script, { resources })];
    writeFileSync(join(folder, "manifests/bomb.json"), podManifest("bomb", { containers }));
    const pod = await waitForPod(client, "bomb-node", ({ status }) => status?.phase === "Running");
    const at = `${world.cgroupRoot}/kubepods/pod${pod.metadata.uid}`;
    // The kernel counts how often it refused a new process, where that is expected.
    const refusals = (): number => {
      const children = readdirSync(join(cgroupBase, "pids", at), { withFileTypes: true });
      const counts = children
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => textIn("pids", join(at, name), "pids.events"));
      return counts.reduce((sum, text) => sum + Number(/max (\d+)/.exec(text)?.[1]), 0);
    };
    await expect.poll(refusals, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(numberIn("pids", at, "pids.current")).toBeLessThanOrEqual(pidsLimit);
    const startedAt = performance.now();
    const listed = await client.listPods(undefined, {}, AbortSignal.timeout(60_000));
    expect(performance.now() - startedAt).toBeLessThan(2000);
    const others = listed.items.filter(({ metadata }) => metadata.name === "guaranteed-node");
    expect(others.map(isReady)).toEqual([true]);
    await rm(join(folder, "manifests/bomb.json"));
    await expect
      .poll(() => readdirSync(join(cgroupBase, "pids", world.cgroupRoot, "kubepods")), {
        timeout: 60_000,
      })
      .not.toContain(`pod${pod.metadata.uid}`);
  });

  async function containerIds(): Promise<ReadonlyMap<string, string>> {
    const containers = await world.runtime.listContainers({}, AbortSignal.timeout(60_000));
    return new Map(
      containers.map(({ labels, id = "" }) => [labels?.["io.kubernetes.pod.uid"] ?? "", id]),
    );
  }
});

describe("a node without cgroups by class", () => {
  let world: RuntimeWorld;
  let folder: string;
  let agent: BerthProcess;

  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network: 101 });
    folder = makeTestFolder("cgroups");
    mkdirSync(join(folder, "manifests"));
    writeFileSync(join(folder, "resolv.conf"), "nameserver 10.1.2.3\n");
    const config = {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodPath: "manifests",
      podLogsDir: "logs",
      resolvConf: "resolv.conf",
      containerRuntimeEndpoint: world.containerd.endpoint,
      cgroupRoot: world.cgroupRoot,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      failCgroupV1: false,
      failSwapOn: false,
      enableServer: false,
      healthzPort: 0,
      makeIPTablesUtilChains: false,
      evictionHard: {},
    };
    writeFileSync(join(folder, "kubelet.yaml"), JSON.stringify(config));
    agent = new BerthProcess([
      "kubelet",
      `--config=${join(folder, "kubelet.yaml")}`,
      `--root-dir=${join(folder, "root")}`,
      `--cert-dir=${join(folder, "pki")}`,
      "--hostname-override=node",
    ]);
    await agent.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
  });

  afterAll(async () => {
    await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(60_000));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    await world.close();
    await removeFolder(folder);
  });

  test("runs pods in the runtime's own cgroups, and reports usage as the runtime measures it", async () => {
    const client = new AgentClient(join(folder, "root/berth.sock"));
    writeFileSync(join(folder, "manifests/web.json"), podManifest("web"));
    const pod = await waitForPod(client, "web-node", isReady);
    const { pods } = await client.readStats(AbortSignal.timeout(60_000));
    const stats = pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);
    expect(stats?.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(stats?.containers[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    expect(existsSync(join(cgroupBase, "cpu", world.cgroupRoot, "kubepods"))).toBe(false);
  });
});

const cgroupBase = "/sys/fs/cgroup";

function controllers(): readonly string[] {
  return readdirSync(cgroupBase).filter((name) => name !== "unified");
}

function textIn(controller: string, path: string, file: string): string {
  return readFileSync(join(cgroupBase, controller, path, file), "utf8").trim();
}

function numberIn(controller: string, path: string, file: string): number {
  return Number(textIn(controller, path, file));
}

function numberOf(file: string): number {
  return Number(readFileSync(file, "utf8"));
}

function machineMemory(): number {
  const kibibytes = /^MemTotal:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
  return Number(kibibytes) * 1024;
}

/** The kernel keeps limits in whole pages. */
function pageOf(bytes: number): number {
  return Math.trunc(bytes / 4096) * 4096;
}
