import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PodSandboxState } from "../../src/model/generated/cri.ts";
import type { PodSpec } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { seededRandom } from "../kit/seeded-random.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, podsPath, untilNoPods } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import { eventually } from "./support/eventually.ts";

/** The long run takes three minutes: BERTH_CHURN_SECONDS=180. */
const churnMs = Number(process.env["BERTH_CHURN_SECONDS"] ?? 40) * 1_000;
const seed = Number(process.env["BERTH_CHURN_SEED"] ?? Date.now() % 100_000);
const maxPods = 60;
const stepMs = 300;

const kinds: readonly Partial<PodSpec>[] = [
  {},
  { initContainers: [shell("first", "sleep 1")] },
  { containers: [shell("main", untilStopped), shell("second", untilStopped)] },
  {
    containers: [
      shell("main", untilStopped, { volumeMounts: [{ name: "map", mountPath: "/map" }] }),
    ],
    volumes: [{ name: "map", configMap: { name: "kube-root-ca.crt" } }],
  },
  { containers: [shell("main", "sleep 2")], restartPolicy: "Never" },
  { containers: [shell("main", "sleep 2; exit 1")], restartPolicy: "OnFailure" },
  { containers: [shell("main", "trap '' TERM; sleep 3600")], terminationGracePeriodSeconds: 2 },
  {
    initContainers: [shell("side", untilStopped, { restartPolicy: "Always" })],
    containers: [shell("main", untilStopped)],
  },
];

describe("a node with pods that come and go", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent);
  });

  afterAll(() => world.close());

  /** The pods whose sandboxes are alive, by UID. */
  async function running(): Promise<readonly string[]> {
    const signal = AbortSignal.timeout(60_000);
    const sandboxes = await world.runtime.runtime.listPodSandboxes(
      { state: { state: PodSandboxState.SANDBOX_READY } },
      signal,
    );
    return sandboxes.map(({ metadata }) => metadata?.uid ?? "").toSorted();
  }

  async function churn(): Promise<number> {
    const random = seededRandom(seed);
    const names: string[] = [];
    const deadlineMs = Date.now() + churnMs;
    let created = 0;
    while (Date.now() < deadlineMs) {
      const isFull = names.length >= maxPods;
      if (!isFull && (names.length === 0 || random() < 0.62)) {
        const name = `churn-${created}`;
        created += 1;
        names.push(name);
        const spec = kinds[Math.floor(random() * kinds.length)] ?? {};
        await createPod(world.api, name, { spec: { terminationGracePeriodSeconds: 5, ...spec } });
      } else {
        const [name] = names.splice(Math.floor(random() * names.length), 1);
        const grace = random() < 0.3 ? { gracePeriodSeconds: Math.floor(random() * 3) } : {};
        await world.api.delete(`${podsPath}/${name}`, grace);
      }
      await delay(random() * stepMs * 2);
    }
    return created;
  }

  test(`ends with what the API server says, and then with nothing (seed ${seed})`, async () => {
    expect(await churn()).toBeGreaterThan(20);
    const pods = await world.api.until<Pod>(
      podsPath,
      (items) =>
        items.every((pod) => pod.metadata.deletionTimestamp === undefined && isSettled(pod)),
      120_000,
    );
    const wanted = pods
      .filter(({ status }) => status?.phase === "Running")
      .map(({ metadata }) => metadata.uid)
      .toSorted();
    const alive = await eventually(running, (uids) => uids.join() === wanted.join(), 30_000);
    expect(alive).toEqual(wanted);
    await world.kubectl.run("delete", "pods", "--all", "--wait=false");
    await untilNoPods(world.api, "", 120_000);
    expect(await world.leftovers(120_000)).toEqual([]);
  }, 480_000);
});

/** It has ended, is ready, or restarts what ends by itself. */
function isSettled(pod: Pod): boolean {
  const { phase } = pod.status ?? {};
  if (phase === "Succeeded" || phase === "Failed" || isReady(pod)) return true;
  return phase === "Running" && pod.spec.restartPolicy === "OnFailure";
}
