import { totalmem } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMemoryGauge } from "../../src/drivers/linux/open-cgroups.ts";
import type { Event, Node, PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

const mebibyte = 2 ** 20;
/** So much less may be free than when the test begins: others use this machine, too. */
const spareBytes = 3000 * mebibyte;
const nodesPath = "/api/v1/nodes?fieldSelector=metadata.name=node-a";
const pressureTaint = "node.kubernetes.io/memory-pressure";

/** A pod that holds so much memory, in files, and is ready when it does. */
function holding(mebibytes: number, request?: string): Partial<PodSpec> {
  const fill = "dd if=/dev/zero of=/memory/$i bs=1M count=100 2>/dev/null";
  const script = `for i in $(seq ${mebibytes / 100}); do ${fill}; done; touch /tmp/full; ${untilStopped}`;
  return {
    containers: [
      shell("main", script, {
        volumeMounts: [{ name: "memory", mountPath: "/memory" }],
        readinessProbe: { exec: { command: ["cat", "/tmp/full"] }, periodSeconds: 1 },
        ...(request === undefined ? {} : { resources: { requests: { memory: request } } }),
      }),
    ],
    volumes: [{ name: "memory", emptyDir: { medium: "Memory" } }],
  };
}

function isEvicted({ status }: Pod): boolean {
  return status?.phase === "Failed" && status.reason === "Evicted";
}

function memoryPressure({ status }: Node): string | undefined {
  return status?.conditions?.find(({ type }) => type === "MemoryPressure")?.reason;
}

function isTainted({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(({ key }) => key === pressureTaint);
}

describe("a node of a cluster that runs short of memory", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    const availableBytes = totalmem() - (openMemoryGauge().usedBytes("/") ?? 0);
    world = await ClusterWorld.start(testedAgent, {
      config: {
        evictionHard: { "memory.available": String(availableBytes - spareBytes) },
        evictionPressureTransitionPeriod: "30s",
        enforceNodeAllocatable: ["none"],
        // All at once, so that what happens under pressure is seen while it lasts.
        nodeStatusUpdateFrequency: "2s",
      },
    });
  });

  afterAll(() => world.close());

  test("ends the pod that holds more than it asked for, takes no other like it, and recovers", async () => {
    await createPod(world.api, "guarded", { spec: holding(1500, "2Gi") });
    await untilPod(world.api, "guarded", isReady);
    await createPod(world.api, "hog", { spec: holding(6000) });
    const evicted = await untilPod(world.api, "hog", isEvicted, 90_000);
    expect(evicted.status?.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: .* Container main was using \w+, request is 0, has larger consumption of memory\. $/,
    );
    expect(evicted.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "DisruptionTarget",
        status: "True",
        reason: "TerminationByKubelet",
      }),
    );
    await createPod(world.api, "late", { spec: { nodeName: "node-a" } });
    const late = await untilPod(world.api, "late", isEvicted);
    expect(late.status?.message).toBe(
      "Pod was rejected: The node had condition: [MemoryPressure]. ",
    );
    await world.api.until<Node>(
      nodesPath,
      ([node]) =>
        node !== undefined &&
        memoryPressure(node) === "KubeletHasInsufficientMemory" &&
        isTainted(node),
      60_000,
    );
    const events = await world.api.list<Event>("/api/v1/namespaces/default/events");
    expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual(
      expect.arrayContaining([
        "EvictionThresholdMet: Attempting to reclaim memory",
        "NodeHasInsufficientMemory: Node node-a status is now: NodeHasInsufficientMemory",
        `Evicted: ${evicted.status?.message}`,
      ]),
    );
    expect(isReady(await untilPod(world.api, "guarded", isReady))).toBe(true);
    await world.api.until<Node>(
      nodesPath,
      ([node]) =>
        node !== undefined &&
        memoryPressure(node) === "KubeletHasSufficientMemory" &&
        !isTainted(node),
      90_000,
    );
  });
});
