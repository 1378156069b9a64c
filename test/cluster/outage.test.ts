import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ContainerState } from "../../src/model/generated/cri.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell } from "../integration/support/agent-manifests.ts";
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
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { eventually } from "./support/eventually.ts";

const outageMs = 60_000;
const proxyPort = 7443;

describe("a node whose API server comes and goes", () => {
  let world: ClusterWorld;
  let proxy: CuttingProxy;

  beforeAll(async () => {
    world = await ClusterWorld.create({
      flags: (plane) => [`--kubeconfig=${plane.nodeKubeconfig("node-a", proxyPort)}`],
    });
    proxy = await CuttingProxy.start(new URL(world.plane.server), proxyPort);
    await world.startNode(testedAgent);
  });

  afterAll(async () => {
    await world.close();
    await proxy.close();
  });

  /** How often containers of the pod were started, as the runtime knows it. */
  async function attempts(pod: Pod): Promise<readonly number[]> {
    const labelSelector = { "io.kubernetes.pod.uid": pod.metadata.uid };
    const containers = await world.runtime.runtime.listContainers(
      { labelSelector },
      AbortSignal.timeout(60_000),
    );
    return containers.map(({ metadata }) => metadata?.attempt ?? 0).toSorted((a, b) => a - b);
  }

  test("pods run on, restart and are probed without it; all that is reported when it is back", async () => {
    await createPod(world.api, "steady");
    await createPod(world.api, "crasher", {
      spec: { containers: [shell("main", "sleep 8; exit 3")] },
    });
    const healthy = "touch /tmp/ok; sleep 25; rm /tmp/ok; sleep 3600";
    await createPod(world.api, "probed", {
      spec: {
        containers: [
          shell("main", healthy, {
            livenessProbe: {
              exec: { command: ["cat", "/tmp/ok"] },
              periodSeconds: 2,
              failureThreshold: 1,
            },
          }),
        ],
        terminationGracePeriodSeconds: 1,
      },
    });
    const steady = await untilPod(world.api, "steady", isReady);
    const crasher = await untilPod(world.api, "crasher", isReady);
    const probed = await untilPod(world.api, "probed", isReady);
    await world.plane.killApiServer();
    await delay(outageMs);
    const crashes = Math.max(...(await attempts(crasher)));
    expect(crashes).toBeGreaterThanOrEqual(2);
    expect(Math.max(...(await attempts(probed)))).toBeGreaterThanOrEqual(1);
    expect(await attempts(steady)).toEqual([0]);
    await world.plane.restartApiServer();
    const reported = await untilPod(
      world.api,
      "crasher",
      ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) >= crashes,
    );
    expect(reported.metadata.uid).toBe(crasher.metadata.uid);
    await createPod(world.api, "later");
    await untilPod(world.api, "later", isReady);
    expect(containersOf(await untilPod(world.api, "steady", isReady))).toEqual(
      containersOf(steady),
    );
    await world.kubectl.run("delete", "pods", "--all", "--wait=false");
    await untilNoPods(world.api);
  });

  test("an agent that starts without it starts its static pods, and the others when it is back", async () => {
    await createPod(world.api, "old");
    const old = await untilPod(world.api, "old", isReady);
    await world.node.stop();
    await createPod(world.api, "new", { spec: { nodeName: world.node.name } });
    await world.plane.killApiServer();
    writeFileSync(join(world.node.manifests, "fixed.json"), podManifest("fixed"));
    world.node.start(testedAgent);
    const running = async (): Promise<readonly string[]> => {
      const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
      const found = await world.runtime.runtime.listContainers(filter, AbortSignal.timeout(60_000));
      return found.map(({ labels }) => labels?.["io.kubernetes.pod.name"] ?? "").toSorted();
    };
    await eventually(running, (names) => names.includes("fixed-node-a"));
    expect(await running()).toEqual(["fixed-node-a", "old"]);
    await world.plane.restartApiServer();
    await untilPod(world.api, "new", isReady);
    await untilPod(world.api, "fixed-node-a", isReady);
    expect(containersOf(await untilPod(world.api, "old", isReady))).toEqual(containersOf(old));
  });

  test("a burst of pods is neither missed nor doubled when connections break in its middle", async () => {
    const names = Array.from({ length: 15 }, (_, index) => `burst-${index}`);
    const cutting = new AbortController();
    const cuts = (async () => {
      while (!cutting.signal.aborted) {
        await delay(300);
        proxy.cut();
      }
    })();
    await Promise.all(
      names.map(async (name, index) => {
        await delay(index * 200);
        await createPod(world.api, name, { labels: { app: "burst" } });
        if (index % 3 === 0) {
          await delay(1_000);
          await world.api.delete(`${podsPath}/${name}`);
        }
      }),
    );
    cutting.abort();
    await cuts;
    // One connection carries everything: a cut counts only while there is one.
    expect(proxy.cuts).toBeGreaterThan(1);
    const pods = await world.api.until<Pod>(
      `${podsPath}?labelSelector=app=burst`,
      (items) => items.length === 10 && items.every(isReady),
      90_000,
    );
    for (const pod of pods) expect(await attempts(pod)).toEqual([0]);
    await world.kubectl.run("delete", "pods", "-l", "app=burst", "--wait=false");
    await untilNoPods(world.api, "?labelSelector=app=burst");
  });
});
