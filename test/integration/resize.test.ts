import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import type {
  Container,
  PodCondition,
  ResourceRequirements,
} from "../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { cgroupFolder, limitFiles, memoryLimitFile } from "./support/cgroup-folder.ts";

const mebibyte = 1024 * 1024;

describe("resizing pods while they run", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(94);
  });
  afterAll(() => world.close());

  beforeEach(() => {
    onTestFailed(() => console.error(world.agent.stderr));
  });

  function write(
    name: string,
    resources: ResourceRequirements,
    more: Partial<Container> = {},
  ): void {
    const container = shell("main", untilStopped, { resources, ...more });
    world.write(`${name}.json`, podManifest(name, { containers: [container] }));
  }

  const limits = (cpu: string, memory: string): ResourceRequirements => ({
    requests: { cpu: "10m", memory: "16Mi" },
    limits: { cpu, memory },
  });

  const resizeCondition = ({ status }: Pod): PodCondition | undefined =>
    status?.conditions?.find(({ type }) => type.startsWith("PodResize"));

  const hasLimits = (cpu: string, memory: string) => (pod: Pod) => {
    const [main] = pod.status?.containerStatuses ?? [];
    const { limits: shown = {} } = main?.resources ?? {};
    const isShown = shown["cpu"] === cpu && shown["memory"] === memory;
    return isShown && resizeCondition(pod) === undefined && isReady(pod);
  };

  const waitFor = (name: string, isReached: (pod: Pod) => boolean): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReached);

  /** What the container itself sees. */
  async function limitsInside({ metadata }: Pod): Promise<readonly number[]> {
    const { main = "" } = await world.containerIds(metadata.uid);
    const command = ["cat", ...limitFiles.map((file) => `/sys/fs/cgroup/${file}`)];
    const signal = AbortSignal.timeout(60_000);
    const { stdout } = await world.runtime.execSync(runtimeContainerId(main), command, 60, signal);
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    return lines.map((line) => Number(line.split(" ")[0]));
  }

  test("a running container gets more and less CPU and memory without a restart", async () => {
    write("grow", limits("100m", "64Mi"));
    const before = await waitFor("grow", hasLimits("100m", "64Mi"));
    const ids = await world.containerIds(before.metadata.uid);
    expect(await limitsInside(before)).toEqual([10_000, 64 * mebibyte]);

    write("grow", limits("150m", "96Mi"));
    const grown = await waitFor("grow", hasLimits("150m", "96Mi"));
    expect(await limitsInside(grown)).toEqual([15_000, 96 * mebibyte]);
    const [podCgroup = ""] = world.podCgroups(grown.metadata.uid);
    const podLimit = memoryLimitFile(relative(cgroupFolder("pids", "/"), podCgroup));
    expect(Number(readFileSync(podLimit, "utf8"))).toBe(96 * mebibyte);

    write("grow", limits("50m", "48Mi"));
    const shrunk = await waitFor("grow", hasLimits("50m", "48Mi"));
    expect(await limitsInside(shrunk)).toEqual([5_000, 48 * mebibyte]);
    expect(Number(readFileSync(podLimit, "utf8"))).toBe(48 * mebibyte);

    expect(shrunk.metadata.uid).toBe(before.metadata.uid);
    expect(await world.containerIds(shrunk.metadata.uid)).toEqual(ids);
    expect(restartsOf(shrunk)).toBe(0);
  });

  test("a container that wants to restart for memory does so, and for CPU does not", async () => {
    const resizePolicy = [
      { resourceName: "cpu", restartPolicy: "NotRequired" },
      { resourceName: "memory", restartPolicy: "RestartContainer" },
    ];
    write("policy", limits("100m", "64Mi"), { resizePolicy });
    await waitFor("policy", hasLimits("100m", "64Mi"));
    write("policy", limits("200m", "64Mi"), { resizePolicy });
    expect(restartsOf(await waitFor("policy", hasLimits("200m", "64Mi")))).toBe(0);
    write("policy", limits("200m", "80Mi"), { resizePolicy });
    const restarted = await waitFor("policy", hasLimits("200m", "80Mi"));
    expect(restartsOf(restarted)).toBe(1);
    expect(await limitsInside(restarted)).toEqual([20_000, 80 * mebibyte]);
  });

  test("memory that is in use is not taken away; the pod says so and goes on", async () => {
    const script = `dd if=/dev/zero of=/dev/shm/held bs=1M count=40 && touch /tmp/held; ${untilStopped}`;
    const probe = { exec: { command: ["cat", "/tmp/held"] }, periodSeconds: 1 };
    const more = { command: ["sh", "-c", script], readinessProbe: probe };
    write("held", limits("100m", "96Mi"), more);
    await waitFor("held", hasLimits("100m", "96Mi"));
    write("held", limits("100m", "32Mi"), more);
    const refused = await waitFor("held", (pod) => resizeCondition(pod)?.reason === "Error");
    expect(resizeCondition(refused)?.type).toBe("PodResizeInProgress");
    expect(resizeCondition(refused)?.message).toMatch(
      /^cannot decrease memory limits: .*container "main" memory limit \(33554432\) below current usage/,
    );
    expect(await limitsInside(refused)).toEqual([10_000, 96 * mebibyte]);
    write("held", limits("100m", "80Mi"), more);
    const resized = await waitFor("held", hasLimits("100m", "80Mi"));
    expect(restartsOf(resized)).toBe(0);
  });

  test("a resize that does not fit waits until another pod goes", async () => {
    const wholeNode = availableParallelism() * 1000;
    const request = (milliCpu: number) => ({ requests: { cpu: `${milliCpu}m` } });
    write("filler", request(wholeNode - 400));
    write("waits", request(100));
    await waitFor("filler", isReady);
    const before = await waitFor("waits", isReady);
    write("waits", request(600));
    const deferred = await waitFor("waits", (pod) => resizeCondition(pod) !== undefined);
    expect(resizeCondition(deferred)).toMatchObject({
      type: "PodResizePending",
      status: "True",
      reason: "Deferred",
      message: expect.stringMatching(/^Node didn't have enough resource: cpu, requested: 600, /),
    });
    expect(deferred.status?.containerStatuses?.[0]?.allocatedResources).toEqual({ cpu: "100m" });
    world.remove("filler.json");
    const resized = await waitFor(
      "waits",
      (pod) => pod.status?.containerStatuses?.[0]?.resources?.requests?.["cpu"] === "600m",
    );
    expect(resized.metadata.uid).toBe(before.metadata.uid);
    const events = await world.client.listEvents(resized, AbortSignal.timeout(60_000));
    const reasons = events
      .map(({ reason }) => reason)
      .filter((reason) => reason?.startsWith("Resize"));
    expect(reasons).toEqual(expect.arrayContaining(["ResizeDeferred", "ResizeStarted"]));
    world.remove("waits.json");
  });

  test("an agent that is killed while it resizes comes to the wanted size, without a restart", async () => {
    write("killed", limits("100m", "64Mi"));
    const before = await waitFor("killed", hasLimits("100m", "64Mi"));
    const sizes = [96, 48, 112, 40].map((size) => ({ size, cpu: `${size}m`, memory: `${size}Mi` }));
    for (const [index, { size, cpu, memory }] of sizes.entries()) {
      write("killed", limits(cpu, memory));
      // Each agent gets a little further.
      await delay(60 + 40 * index);
      await world.agent.stop("SIGKILL");
      await world.up();
      const resized = await waitFor("killed", hasLimits(cpu, memory));
      expect(await limitsInside(resized)).toEqual([size * 100, size * mebibyte]);
      expect(resized.metadata.uid).toBe(before.metadata.uid);
      expect(restartsOf(resized)).toBe(0);
    }
  });
});
