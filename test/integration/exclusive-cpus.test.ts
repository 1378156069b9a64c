import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { AgentClient } from "../../src/cli/agent-client.ts";
import type { ResourceRequirements } from "../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";
import { isReady, restartsOf, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { removeCgroups } from "./support/leftovers.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const network = 211;
const timeoutMs = 60_000;

/** Whole CPUs in a Guaranteed pod. */
const own: ResourceRequirements = {
  requests: { cpu: "1", memory: "32Mi" },
  limits: { cpu: "1", memory: "32Mi" },
};

describe("containers with CPUs and memory of their own, on this machine's CPUs 0 and 1", () => {
  let world: RuntimeWorld;
  let folder: string;
  let rootDir: string;
  let client: AgentClient;
  let agent: BerthProcess;

  beforeAll(async () => {
    buildProgram();
    world = await startRuntimeWorld({ network });
    folder = makeTestFolder("cpus");
    rootDir = join(folder, "root");
    client = new AgentClient(join(rootDir, "berth.sock"));
    mkdirSync(join(folder, "manifests"));
    writeFileSync(join(folder, "kubelet.yaml"), configText());
    agent = await startAgent();
  });

  afterAll(async () => {
    if (agent.isRunning) await agent.stop("SIGTERM");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(timeoutMs));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    removeCgroups(world.cgroupRoot);
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
      containerRuntimeEndpoint: world.containerd.endpoint,
      cgroupRoot: world.cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      enableServer: false,
      healthzPort: 0,
      makeIPTablesUtilChains: false,
      evictionHard: {},
      cpuManagerPolicy: "static",
      reservedSystemCPUs: "0",
      memoryManagerPolicy: "Static",
      systemReserved: { memory: "128Mi" },
      reservedMemory: [{ numaNode: 0, limits: { memory: "128Mi" } }],
      topologyManagerPolicy: "single-numa-node",
    });
  }

  function newAgent(): BerthProcess {
    return new BerthProcess([
      "kubelet",
      `--config=${join(folder, "kubelet.yaml")}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(folder, "pki")}`,
      "--hostname-override=cpus",
    ]);
  }

  async function startAgent(): Promise<BerthProcess> {
    const started = newAgent();
    await started.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
    return started;
  }

  function write(name: string, resources: ResourceRequirements): void {
    const container = shell("main", untilStopped, { resources });
    const text = podManifest(name, { containers: [container] });
    writeFileSync(join(folder, "manifests", `${name}.json`), text);
  }

  function waitFor(name: string, isReached: (pod: Pod) => boolean): Promise<Pod> {
    return waitForPod(client, `${name}-cpus`, isReached);
  }

  function idOf({ status }: Pod): string {
    return (status?.containerStatuses?.[0]?.containerID ?? "").replace("containerd://", "");
  }

  /** What the container's own cgroup says. */
  async function inside(pod: Pod, file: string): Promise<string> {
    const { stdout } = await world.runtime.execSync(
      runtimeContainerId(idOf(pod)),
      ["cat", `/sys/fs/cgroup/${file}`],
      60,
      AbortSignal.timeout(timeoutMs),
    );
    return new TextDecoder().decode(stdout).trim();
  }

  async function untilCpus(pod: Pod, cpus: string): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    while ((await inside(pod, "cpuset/cpuset.cpus")) !== cpus) {
      deadline.throwIfAborted();
      await delay(100);
    }
  }

  function stateFile(name: string): string {
    return readFileSync(join(rootDir, name), "utf8");
  }

  test("one gets the CPU that is not reserved, without a quota, and the others leave it", async () => {
    write("shared", { requests: { memory: "16Mi" } });
    const shared = await waitFor("shared", isReady);
    expect(await inside(shared, "cpuset/cpuset.cpus")).toBe("0-1");
    write("own", own);
    const pod = await waitFor("own", isReady);
    expect(await inside(pod, "cpuset/cpuset.cpus")).toBe("1");
    expect(await inside(pod, "cpuset/cpuset.mems")).toBe("0");
    expect(await inside(pod, "cpu/cpu.cfs_quota_us")).toBe("-1");
    await untilCpus(shared, "0");
    const why = await new BerthProcess(["why", "own-cpus", "--data-dir", rootDir]).ended;
    expect(why.stdout).toContain("container main: cpu 1: its pod is Guaranteed");
    const { uid } = pod.metadata;
    expect(JSON.parse(stateFile("cpu_manager_state"))).toMatchObject({
      policyName: "static",
      defaultCpuSet: "0",
      entries: { [uid]: { main: "1" } },
    });
    expect(JSON.parse(stateFile("memory_manager_state"))).toMatchObject({
      policyName: "Static",
      entries: { [uid]: { main: [{ numaAffinity: [0], type: "memory", size: 33_554_432 }] } },
    });
  });

  test("it keeps them when it restarts, and when the agent is killed and starts again", async () => {
    const pod = await waitFor("own", isReady);
    const files = ["cpu_manager_state", "memory_manager_state"];
    const before = files.map(stateFile);
    await world.runtime.stopContainer(
      runtimeContainerId(idOf(pod)),
      0,
      AbortSignal.timeout(timeoutMs),
    );
    const restarted = await waitFor("own", (seen) => isReady(seen) && restartsOf(seen) === 1);
    expect(await inside(restarted, "cpuset/cpuset.cpus")).toBe("1");
    expect(files.map(stateFile)).toEqual(before);

    await agent.stop("SIGKILL");
    agent = await startAgent();
    const adopted = await waitFor("own", isReady);
    expect(idOf(adopted)).toBe(idOf(restarted));
    expect(await inside(adopted, "cpuset/cpuset.cpus")).toBe("1");
    expect(await inside(await waitFor("shared", isReady), "cpuset/cpuset.cpus")).toBe("0");
    expect(files.map(stateFile)).toEqual(before);
  });

  test("when it has ended, others get its CPU back, and the next one can have it", async () => {
    rmSync(join(folder, "manifests/own.json"));
    await waitUntilGone(client, "own-cpus");
    await untilCpus(await waitFor("shared", isReady), "0-1");
    expect(JSON.parse(stateFile("cpu_manager_state"))).not.toHaveProperty("entries");
    write("next", own);
    const next = await waitFor("next", isReady);
    expect(await inside(next, "cpuset/cpuset.cpus")).toBe("1");
  });

  test("a state file that is not as it was written keeps the agent from starting", async () => {
    await agent.stop("SIGTERM");
    const path = join(rootDir, "cpu_manager_state");
    const text = stateFile("cpu_manager_state");
    writeFileSync(path, text.replace('"defaultCpuSet":"0"', '"defaultCpuSet":"0-1"'));
    const { code, stderr } = await newAgent().ended;
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /could not restore state from checkpoint: .*, please drain this node and delete the CPU manager checkpoint file .*cpu_manager_state/,
    );
    writeFileSync(path, text);
    agent = await startAgent();
    await waitFor("next", isReady);
  });
});
