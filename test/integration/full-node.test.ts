import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

const maxPods = 110;

describe("a full node", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(95);
  });
  afterAll(() => world.close());

  test("110 pods are admitted and run; the 111th is refused", async () => {
    const names = Array.from({ length: maxPods }, (_, index) => `pod-${index}`);
    const spec = {
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      containers: [shell("main", "sleep 3600")],
    };
    const pods = names.map((name) => JSON.parse(podManifest(name, spec)) as Pod);
    world.write("all.json", JSON.stringify({ apiVersion: "v1", kind: "List", items: pods }));
    await Promise.all(
      names.map((name) => waitForPod(world.client, world.podName(name), isReady, 150_000)),
    );
    world.write("more.json", podManifest("more", spec));
    const refused = await waitForPod(
      world.client,
      world.podName("more"),
      ({ status }) => status?.phase === "Failed",
    );
    expect(refused.status).toMatchObject({
      reason: "OutOfpods",
      message:
        "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110",
    });
    expect(await world.tracesOf(refused.metadata.uid)).toEqual([
      expect.stringMatching(/^file statuses\//),
    ]);
  });
});
