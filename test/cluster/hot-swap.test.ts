import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest } from "../integration/support/agent-manifests.ts";
import { type NodeAgent, testedAgent } from "./support/cluster-node.ts";
import {
  containersOf,
  createPod,
  isReady,
  podsPath,
  restartsOf,
  untilNoPods,
  untilPod,
} from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import { lastingPods, passingPods, zooObjects } from "./support/pod-zoo.ts";

// Longer than any probe's period and the time in which an agent has synced every pod.
const settleMs = 15_000;
const youngMs = 12_000;

describe("one agent takes a node over from the other", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start("kubelet");
    await world.kubectl.apply(...zooObjects);
    for (const [name, spec] of [...lastingPods, ...passingPods]) {
      await createPod(world.api, name, { spec });
    }
    writeFileSync(join(world.node.manifests, "fixed.json"), podManifest("fixed"));
    await world.api.until<Pod>(
      podsPath,
      (pods) =>
        pods.length === lastingPods.length + passingPods.length + 1 && pods.every(hasSettled),
      150_000,
    );
  });

  afterAll(() => world.close());

  /** A kubelet takes what started just before it for new, and shows it unready until it is probed. */
  async function untilNoneIsYoung(): Promise<void> {
    const pods = await world.api.list<Pod>(podsPath);
    await delay(youngestMs(pods) + youngMs - Date.now());
  }

  /** What must not change, of all pods but the one that restarts by itself. */
  async function snapshot(): Promise<Readonly<Record<string, unknown>>> {
    const pods = await world.api.list<Pod>(podsPath);
    return Object.fromEntries(
      pods
        .filter(({ metadata }) => metadata.name !== "crashing")
        .map((pod) => [pod.metadata.name, lastingState(pod)]),
    );
  }

  const inside = (pod: string, script: string): Promise<string> =>
    world.kubectl.run("exec", pod, "--", "sh", "-c", script);

  const marks = async (): Promise<readonly string[]> => [
    await inside("scratch", "cat /disk/mark /memory/mark"),
    await inside("objects", "cat /map/word /secret/word /all/name; echo $WORD $S_word"),
    await inside("sub-path", "cat /etc/word"),
  ];

  /** Every state that a pod's Ready condition had meanwhile. */
  async function watchReady(during: () => Promise<void>): Promise<readonly string[]> {
    const stop = new AbortController();
    const seen = new Set<string>();
    const watching = (async () => {
      for await (const pods of world.api.states<Pod>(podsPath, stop.signal)) {
        for (const pod of pods) {
          if (pod.metadata.name !== "crashing") seen.add(`${pod.metadata.name} ${isReady(pod)}`);
        }
      }
    })().catch(() => undefined);
    await during();
    stop.abort();
    await watching;
    return [...seen].toSorted();
  }

  describe.each<{ from: NodeAgent; to: NodeAgent; round: number }>([
    { from: "kubelet", to: testedAgent, round: 1 },
    { from: testedAgent, to: "kubelet", round: 2 },
  ])("from $from to $to", ({ to, round }) => {
    test("no container, restart count, readiness, volume or log changes", async () => {
      await untilNoneIsYoung();
      const before = await snapshot();
      const content = await marks();
      const restarts = restartsOf(await untilPod(world.api, "crashing", () => true));
      const seen = await watchReady(async () => {
        await world.node.stop();
        await world.startNode(to);
        await delay(settleMs);
      });
      expect(await snapshot()).toEqual(before);
      expect(seen).toHaveLength(Object.keys(before).length);
      expect(await marks()).toEqual(content);
      const counted = (await world.kubectl.run("logs", "plain")).trim().split("\n");
      expect(counted).toEqual(counted.map((_, index) => `count ${index + 1}`));
      expect(await world.kubectl.run("logs", "succeeded")).toBe("done\n");
      const crashing = await untilPod(world.api, "crashing", () => true);
      expect(restartsOf(crashing)).toBeGreaterThanOrEqual(restarts);
    });

    test("probes go on", async () => {
      await inside("exec-probes", "touch /tmp/away");
      await untilPod(world.api, "exec-probes", (pod) => !isReady(pod));
      await inside("exec-probes", "rm /tmp/away");
      const back = await untilPod(world.api, "exec-probes", isReady);
      const restarts = restartsOf(back);
      await inside("exec-probes", "touch /tmp/ill");
      const ill = await untilPod(world.api, "exec-probes", (pod) => restartsOf(pod) > restarts);
      expect(restartsOf(ill)).toBe(restarts + 1);
      await untilPod(world.api, "exec-probes", isReady);
    });

    test("restarts go on, and count on", async () => {
      const restarts = restartsOf(await untilPod(world.api, "pair", isReady));
      await inside("pair", "kill 1").catch(() => "");
      const pod = await untilPod(
        world.api,
        "pair",
        (found) => restartsOf(found) > restarts && isReady(found),
      );
      expect(restartsOf(pod)).toBe(restarts + 1);
    });

    test("a new pod runs, and one of the other agent's ends", async () => {
      await createPod(world.api, `new-${round}`);
      expect(isReady(await untilPod(world.api, `new-${round}`, isReady))).toBe(true);
      const old = round === 1 ? "sidecar" : "new-1";
      await world.api.delete(`${podsPath}/${old}`);
      await untilNoPods(world.api, `?fieldSelector=metadata.name=${old}`);
    });
  });

  test.each<{ to: NodeAgent; round: number }>([
    { to: testedAgent, round: 3 },
    { to: "kubelet", round: 4 },
  ])("$to does what was asked for while no agent ran", async ({ to, round }) => {
    const [gone, died, fresh] = ["gone", "died", "fresh"].map((name) => `${name}-${round}`) as [
      string,
      string,
      string,
    ];
    for (const name of [gone, died]) await createPod(world.api, name);
    await untilPod(world.api, gone, isReady);
    const before = await untilPod(world.api, died, isReady);
    await world.node.stop();
    await world.api.delete(`${podsPath}/${gone}`);
    await createPod(world.api, fresh, { spec: { nodeName: world.node.name } });
    const id = before.status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    await world.runtime.runtime.stopContainer(
      runtimeContainerId(id ?? ""),
      5,
      AbortSignal.timeout(60_000),
    );
    await world.startNode(to);
    await untilNoPods(world.api, `?fieldSelector=metadata.name=${gone}`);
    await untilPod(world.api, fresh, isReady);
    const after = await untilPod(world.api, died, (pod) => restartsOf(pod) > 0 && isReady(pod));
    expect(restartsOf(after)).toBe(1);
  });

  test("at the end everything can be deleted", async () => {
    rmSync(join(world.node.manifests, "fixed.json"));
    await world.kubectl.run("delete", "pods", "--all", "--wait=false");
    await untilNoPods(world.api, "", 120_000);
    expect(await world.leftovers(120_000)).toEqual([]);
  });
});

function hasSettled(pod: Pod): boolean {
  switch (pod.metadata.name) {
    case "succeeded":
      return pod.status?.phase === "Succeeded";
    case "failed":
      return pod.status?.phase === "Failed";
    case "crashing":
      return restartsOf(pod) >= 1;
    case "never-ready":
      return pod.status?.containerStatuses?.[0]?.started === true;
    default:
      return isReady(pod);
  }
}

function lastingState(pod: Pod): object {
  const { phase, podIPs, startTime, conditions = [] } = pod.status ?? {};
  const { uid, annotations } = pod.metadata;
  const common = { uid, phase, containers: containersOf(pod) };
  // An agent keeps no status of static pods, and no network of ended ones.
  if (annotations?.["kubernetes.io/config.mirror"] !== undefined) {
    return { ...common, podIPs, conditions: conditions.map(({ type, status }) => [type, status]) };
  }
  if (phase === "Succeeded" || phase === "Failed") return { ...common, startTime, conditions };
  return { ...common, podIPs, startTime, conditions };
}

/** When the youngest container that is not to be restarted was started. */
function youngestMs(pods: readonly Pod[]): number {
  const started = pods
    .filter(({ metadata }) => metadata.name !== "crashing")
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .map(({ state }) => Date.parse(state?.running?.startedAt ?? "1970-01-01T00:00:00Z"));
  return Math.max(...started);
}
