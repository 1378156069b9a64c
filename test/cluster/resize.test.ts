import { availableParallelism } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PodCondition, ResourceRequirements } from "../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { type NodeAgent, testedAgent } from "./support/cluster-node.ts";
import { containersOf, createPod, isReady, podsPath, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

const mebibyte = 1024 * 1024;

describe("resizing pods through the API server", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent);
  });

  afterAll(() => world.close());

  const limits = (cpu: string, memory: string): ResourceRequirements => ({
    requests: { cpu: "20m", memory: "16Mi" },
    limits: { cpu, memory },
  });

  async function create(name: string, resources: ResourceRequirements): Promise<Pod> {
    await createPod(world.api, name, {
      spec: { containers: [shell("main", untilStopped, { resources })] },
    });
    return untilPod(world.api, name, isReady);
  }

  async function resize(name: string, resources: ResourceRequirements): Promise<Pod> {
    const patch = { spec: { containers: [{ name: "main", resources }] } };
    return world.api.patch<Pod>(`${podsPath}/${name}/resize`, patch);
  }

  const resizeCondition = ({ status }: Pod): PodCondition | undefined =>
    status?.conditions?.find(({ type }) => type.startsWith("PodResize"));

  const has = (resources: ResourceRequirements) => (pod: Pod) =>
    JSON.stringify(sorted(pod.status?.containerStatuses?.[0]?.resources)) ===
      JSON.stringify(sorted(resources)) && resizeCondition(pod) === undefined;

  async function limitsInside(pod: Pod): Promise<readonly number[]> {
    const id = pod.status?.containerStatuses?.[0]?.containerID ?? "";
    const files = ["cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes"];
    const command = ["cat", ...files.map((file) => `/sys/fs/cgroup/${file}`)];
    const { runtime } = world.runtime;
    const signal = AbortSignal.timeout(60_000);
    const { stdout } = await runtime.execSync(
      runtimeContainerId(id.replace(/^.*:\/\//, "")),
      command,
      5,
      signal,
    );
    return new TextDecoder().decode(stdout).trim().split("\n").map(Number);
  }

  test("a running pod gets what it asks for, and its status shows which generation that was", async () => {
    const before = await create("grow", limits("100m", "64Mi"));
    const asked = await resize("grow", limits("150m", "96Mi"));
    const resized = await untilPod(world.api, "grow", has(limits("150m", "96Mi")));
    expect(await limitsInside(resized)).toEqual([15_000, 96 * mebibyte]);
    expect(containersOf(resized)).toEqual(containersOf(before));
    expect(resized.status?.observedGeneration).toBe(asked.metadata.generation);
    expect(resized.status?.containerStatuses?.[0]?.allocatedResources).toEqual({
      cpu: "20m",
      memory: "16Mi",
    });
    expect(resized.status?.allocatedResources).toEqual({ cpu: "20m", memory: "16Mi" });
    await resize("grow", limits("60m", "48Mi"));
    const shrunk = await untilPod(world.api, "grow", has(limits("60m", "48Mi")));
    expect(await limitsInside(shrunk)).toEqual([6_000, 48 * mebibyte]);
    expect(containersOf(shrunk)).toEqual(containersOf(before));
  });

  test("a resize that does not fit waits until another pod is deleted", async () => {
    const request = (milliCpu: number) => ({ requests: { cpu: `${milliCpu}m` } });
    await create("filler", request(availableParallelism() * 1000 - 700));
    await create("waits", request(100));
    await resize("waits", request(900));
    const waiting = await untilPod(
      world.api,
      "waits",
      (pod) => resizeCondition(pod)?.type === "PodResizePending",
    );
    expect(resizeCondition(waiting)).toMatchObject({ reason: "Deferred", observedGeneration: 2 });
    await world.api.delete(`${podsPath}/filler`);
    await untilPod(world.api, "waits", has(request(900)));
  });

  test("the next agent goes on with what the last one gave", async () => {
    const before = await create("swapped", limits("100m", "64Mi"));
    await resize("swapped", limits("150m", "96Mi"));
    await untilPod(world.api, "swapped", has(limits("150m", "96Mi")));
    const other: NodeAgent = testedAgent === "kubelet" ? "berth" : "kubelet";
    const rounds = [
      { agent: other, missed: limits("200m", "128Mi") },
      { agent: testedAgent, missed: limits("120m", "80Mi") },
    ];
    for (const { agent, missed } of rounds) {
      await world.node.stop();
      // Asked for while no agent ran.
      await resize("swapped", missed);
      await world.startNode(agent);
      const resized = await untilPod(world.api, "swapped", has(missed));
      expect(containersOf(resized)).toEqual(containersOf(before));
    }
    const after = await untilPod(world.api, "swapped", isReady);
    expect(await limitsInside(after)).toEqual([12_000, 80 * mebibyte]);
  });
});

function sorted({ requests = {}, limits = {} }: ResourceRequirements = {}): unknown {
  const entries = (list: object) => Object.entries(list).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [entries(requests), entries(limits)];
}
