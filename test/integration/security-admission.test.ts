import { cpus } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { eventMessages, waitForEnd } from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

/** More than half of the machine. */
const mostCpu = `${Math.floor(cpus().length * 600)}m`;

function greedy(priority?: number): Partial<PodSpec> {
  const resources = { requests: { cpu: mostCpu } };
  const containers = [shell("main", untilStopped, { resources })];
  return { containers, ...(priority === undefined ? {} : { priority }) };
}

describe("which pods the node takes", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(75);
  });
  afterAll(() => world.close());

  const started = async (name: string, spec: Partial<PodSpec>): Promise<Pod> => {
    world.write(`${name}.json`, podManifest(name, spec));
    return waitForPod(world.client, world.podName(name), isReady);
  };

  test("one that does not fit beside the others is refused, and stays so when the agent comes back", async () => {
    const first = await started("first", greedy());
    world.write("late.json", podManifest("late", greedy()));
    const { status } = await waitForEnd(world, "late");
    const asked = Number(mostCpu.slice(0, -1));
    expect(status).toMatchObject({
      phase: "Failed",
      reason: "OutOfcpu",
      message: `Pod was rejected: Node didn't have enough resource: cpu, requested: ${asked}, used: ${asked}, capacity: ${cpus().length * 1000}`,
    });
    await world.agent.stop("SIGKILL");
    await world.up();
    expect((await waitForEnd(world, "late")).status).toEqual(status);
    world.remove("first.json");
    world.remove("late.json");
    await waitUntilGone(world.client, first.metadata.uid);
  });

  test("one of higher priority ends another for its place, before it starts", async () => {
    const low = await started("low", greedy(100));
    const high = await started("high", greedy(2_000_000_000));
    const victim = await waitForEnd(world, "low");
    expect(victim.status).toMatchObject({
      phase: "Failed",
      reason: "Preempting",
      message: "Preempted in order to admit critical pod",
    });
    expect(victim.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "DisruptionTarget",
        status: "True",
        reason: "TerminationByKubelet",
      }),
    );
    expect(await eventMessages(world, low, "Preempting")).toEqual([
      "Preempted in order to admit critical pod",
    ]);
    const finished = victim.status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? "";
    const began = high.status?.containerStatuses?.[0]?.state?.running?.startedAt ?? "";
    expect(Date.parse(finished)).toBeLessThanOrEqual(Date.parse(began));
    const described = (await world.berth("describe", "pod", world.podName("low"))).stdout;
    expect(described).toMatch(/^Reason: +Preempting$/m);
    world.remove("low.json");
    world.remove("high.json");
    await waitUntilGone(world.client, high.metadata.uid);
  });

  test("one whose runtime class is missing waits for it, and starts when it is there", async () => {
    world.write("classy.json", podManifest("classy", { runtimeClassName: "plain" }));
    const name = world.podName("classy");
    const isPending = ({ status }: Pod): boolean => status?.phase === "Pending";
    const pod = await waitForPod(world.client, name, isPending);
    await expect
      .poll(() => eventMessages(world, pod, "FailedCreatePodSandBox"))
      .toContainEqual('Failed to create pod sandbox: runtimeclass.node.k8s.io "plain" not found');
    const runtimeClass = { metadata: { name: "plain" }, handler: "runc" };
    world.write(
      "class.json",
      JSON.stringify({ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", ...runtimeClass }),
    );
    const ready = await waitForPod(world.client, name, isReady);
    const filter = { labelSelector: { "io.kubernetes.pod.uid": ready.metadata.uid } };
    const [sandbox] = await world.runtime.listPodSandboxes(filter, AbortSignal.timeout(60_000));
    expect(sandbox?.runtimeHandler).toBe("runc");
    world.remove("classy.json");
  });

  test("one whose runtime class has a handler that the runtime lacks waits, and says which", async () => {
    const runtimeClass = { metadata: { name: "odd" }, handler: "runsc" };
    world.write(
      "odd-class.json",
      JSON.stringify({ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", ...runtimeClass }),
    );
    world.write("odd.json", podManifest("odd", { runtimeClassName: "odd" }));
    const isPending = ({ status }: Pod): boolean => status?.phase === "Pending";
    const pod = await waitForPod(world.client, world.podName("odd"), isPending);
    await expect
      .poll(() => eventMessages(world, pod, "FailedCreatePodSandBox"))
      .toContainEqual(expect.stringContaining('no runtime for "runsc" is configured'));
    world.remove("odd.json");
  });
});
