import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { isReady, podSpec, podsPath, untilNoPods } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import {
  type Deployment,
  daemonSet,
  deployment,
  deploymentsPath,
  type Job,
  job,
  jobsPath,
} from "./support/workloads.ts";

describe("workloads on a node", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent);
  });

  afterAll(() => world.close());

  async function untilAvailable(name: string, count: number): Promise<void> {
    await world.api.until<Deployment>(
      `${deploymentsPath}?fieldSelector=metadata.name=${name}`,
      ([found]) => (found?.status?.availableReplicas ?? 0) === count,
      120_000,
    );
  }

  function podsOf(name: string): Promise<readonly Pod[]> {
    return world.api.list(`${podsPath}?labelSelector=app=${name}`);
  }

  test("a deployment grows from none to twenty and back", async () => {
    await world.kubectl.apply(deployment("crowd", 0, podSpec()));
    await world.kubectl.run("scale", "deployment/crowd", "--replicas=20");
    await untilAvailable("crowd", 20);
    const pods = await podsOf("crowd");
    expect(new Set(pods.map(({ status }) => status?.podIP)).size).toBe(20);
    expect(pods.every(isReady)).toBe(true);
    await world.kubectl.run("scale", "deployment/crowd", "--replicas=0");
    await untilNoPods(world.api, "?labelSelector=app=crowd", 120_000);
    await world.kubectl.run("delete", "deployment", "crowd");
  });

  test("a rolling update never has fewer ready pods than asked for", async () => {
    const spec = podSpec({
      containers: [
        shell("main", untilStopped, {
          readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
        }),
      ],
    });
    await world.kubectl.apply(deployment("rolling", 4, spec));
    await untilAvailable("rolling", 4);
    const stop = new AbortController();
    const readyCounts: number[] = [];
    const watching = (async () => {
      const states = world.api.states<Pod>(`${podsPath}?labelSelector=app=rolling`, stop.signal);
      for await (const pods of states) readyCounts.push(pods.filter(isReady).length);
    })().catch(() => undefined);
    await world.kubectl.run("set", "image", "deployment/rolling", "main=busybox:1.36");
    await world.kubectl.run("rollout", "status", "deployment/rolling", "--timeout=80s");
    await untilAvailable("rolling", 4);
    stop.abort();
    await watching;
    expect(Math.min(...readyCounts)).toBeGreaterThanOrEqual(4);
    const pods = await podsOf("rolling");
    const current = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect(current.map(({ spec: { containers } }) => containers[0]?.image)).toEqual(
      Array.from({ length: 4 }, () => "busybox:1.36"),
    );
    await world.kubectl.run("delete", "deployment", "rolling");
    await untilNoPods(world.api, "?labelSelector=app=rolling");
  });

  test("jobs try again, in a new pod or in the same, until they succeed", async () => {
    const tries = join(world.node.folder, "tries");
    mkdirSync(tries);
    const newPods = podSpec({
      restartPolicy: "Never",
      containers: [
        shell("main", "n=$(ls /tries | wc -l); touch /tries/$n; [ $n -ge 1 ]", {
          volumeMounts: [{ name: "tries", mountPath: "/tries" }],
        }),
      ],
      volumes: [{ name: "tries", hostPath: { path: tries } }],
    });
    const samePod = podSpec({
      restartPolicy: "OnFailure",
      containers: [
        shell("main", "n=$(ls /tries | wc -l); touch /tries/$n; [ $n -ge 2 ]", {
          volumeMounts: [{ name: "tries", mountPath: "/tries" }],
        }),
      ],
      volumes: [{ name: "tries", emptyDir: {} }],
    });
    await world.kubectl.apply(job("new-pods", newPods), job("same-pod", samePod));
    const jobs = await world.api.until<Job>(
      jobsPath,
      (items) => items.length === 2 && items.every(({ status }) => status?.succeeded === 1),
      120_000,
    );
    const failed = Object.fromEntries(
      jobs.map(({ metadata, status }) => [metadata?.name, status?.failed ?? 0]),
    );
    expect(failed).toEqual({ "new-pods": 1, "same-pod": 0 });
    const pods = await podsOf("same-pod");
    expect(pods[0]?.status?.containerStatuses?.[0]?.restartCount).toBe(2);
    await world.kubectl.run("delete", "jobs", "new-pods", "same-pod");
    await untilNoPods(world.api, "?labelSelector=app+in+(new-pods,same-pod)");
  });

  test("a daemon set's pod comes with the set, comes back when deleted, and goes with the set", async () => {
    await world.kubectl.apply(daemonSet("daemon", podSpec()));
    const path = `${podsPath}?labelSelector=app=daemon`;
    const [first] = await world.api.until<Pod>(path, (pods) => pods.some(isReady));
    await world.kubectl.run("delete", "pod", first?.metadata.name ?? "", "--wait=false");
    const [second] = await world.api.until<Pod>(
      path,
      (pods) =>
        pods.length === 1 && pods.every(isReady) && pods[0]?.metadata.uid !== first?.metadata.uid,
    );
    expect(second?.spec.nodeName).toBe(world.node.name);
    await world.kubectl.run("delete", "daemonset", "daemon");
    await untilNoPods(world.api, "?labelSelector=app=daemon");
    expect(await world.leftovers()).toEqual([]);
  });
});
