import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { testedAgent } from "./support/cluster-node.ts";
import {
  containersOf,
  createPod,
  isReady,
  podsPath,
  untilNoPods,
  untilPod,
} from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

const mirror = "fixed-node-a";

describe("a node and its pods", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent);
  });

  afterAll(() => world.close());

  function writeStaticPod(script: string): void {
    const manifest = podManifest("fixed", { containers: [shell("main", script)] });
    writeFileSync(join(world.node.manifests, "fixed.json"), manifest);
  }

  test("a static pod is shown to the cluster, and comes back there when it is deleted there", async () => {
    writeStaticPod(untilStopped);
    const first = await untilPod(world.api, mirror, isReady);
    expect(first.metadata.annotations?.["kubernetes.io/config.source"]).toBe("file");
    expect(first.metadata.ownerReferences?.[0]?.name).toBe(world.node.name);
    await world.kubectl.run("delete", "pod", mirror, "--wait=false");
    const second = await untilPod(
      world.api,
      mirror,
      (pod) => isReady(pod) && pod.metadata.uid !== first.metadata.uid,
    );
    expect(containersOf(second)).toEqual(containersOf(first));
  });

  test("what is edited by hand in the cluster does not reach a static pod", async () => {
    const before = await untilPod(world.api, mirror, isReady);
    await world.kubectl.run("label", "pod", mirror, "by=hand");
    await world.kubectl.run("set", "image", `pod/${mirror}`, "main=busybox:1.36");
    // Nothing must come of it: another pod that starts after it shows that there was time.
    await createPod(world.api, "witness");
    await untilPod(world.api, "witness", isReady);
    const after = await untilPod(world.api, mirror, isReady);
    expect(containersOf(after)).toEqual(containersOf(before));
    await world.api.delete(`${podsPath}/witness`);
  });

  test("a static pod changes with its file and ends with it", async () => {
    const before = await untilPod(world.api, mirror, isReady);
    writeStaticPod(`echo changed; ${untilStopped}`);
    const after = await untilPod(
      world.api,
      mirror,
      (pod) => isReady(pod) && pod.metadata.uid !== before.metadata.uid,
      90_000,
    );
    expect(after.spec.containers[0]?.command?.[2]).toContain("echo changed");
    expect(containersOf(after)).not.toEqual(containersOf(before));
    rmSync(join(world.node.manifests, "fixed.json"));
    await untilNoPods(world.api);
  });

  test("a node that was deleted comes back with its agent, and its pods run on", async () => {
    await createPod(world.api, "survivor");
    const before = await untilPod(world.api, "survivor", isReady);
    await world.kubectl.run("delete", "node", world.node.name);
    await world.node.stop();
    await world.startNode(testedAgent);
    const after = await untilPod(world.api, "survivor", isReady);
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(containersOf(after)).toEqual(containersOf(before));
    await world.api.delete(`${podsPath}/survivor`);
    await untilNoPods(world.api);
  });

  test("pods deleted at any moment of their start leave nothing", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `hasty-${index}`);
    await Promise.all(
      names.map(async (name, index) => {
        await createPod(world.api, name, {
          spec: {
            initContainers: [shell("first", "sleep 1")],
            containers: [shell("main", untilStopped)],
            terminationGracePeriodSeconds: 3,
          },
        });
        // Spread over the seconds that a start takes.
        await delay(index * 250);
        const grace = index % 3 === 0 ? { gracePeriodSeconds: 0 } : {};
        await world.api.delete(`${podsPath}/${name}`, grace);
      }),
    );
    await untilNoPods(world.api);
    expect(await world.leftovers()).toEqual([]);
  });

  test("a pod that is refused says why, and stays refused", async () => {
    await createPod(world.api, "picky", {
      spec: { nodeName: world.node.name, nodeSelector: { "no-such": "label" } },
    });
    const refused = await untilPod(
      world.api,
      "picky",
      ({ status }: Pod) => status?.phase === "Failed",
    );
    expect(refused.status?.reason).toBe("NodeAffinity");
    await world.api.delete(`${podsPath}/picky`);
    await untilNoPods(world.api);
    expect(refused.status?.containerStatuses ?? []).toEqual([]);
  });
});
