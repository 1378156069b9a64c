import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Node, PersistentVolume } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { CsiDriver } from "../integration/support/csi-driver.ts";
import { detachLoopDevices } from "../integration/support/loop-devices.ts";
import { type NodeAgent, testedAgent } from "./support/cluster-node.ts";
import {
  containersOf,
  createPod,
  isReady,
  podsPath,
  untilNoPods,
  untilPod,
} from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import {
  attachmentsPath,
  claimsPath,
  createStorage,
  isLocal,
  localVolumeName,
  readMark,
  type StorageKind,
  storageObjects,
  storagePod,
  volumesPath,
} from "./support/storage-zoo.ts";

// Longer than any probe's period and the time in which an agent has synced every pod.
const settleMs = 20_000;
const youngMs = 12_000;

const pods: readonly (readonly [StorageKind, number])[] = [
  ["disk", 7],
  ["block", 5],
  ["local", 4],
  ["local-disk", 4],
  ["local-block", 3],
  ["ephemeral", 4],
  ["inline", 4],
];

const firstPods = pods.flatMap(([kind, count]) =>
  Array.from({ length: count }, (_, index): readonly [StorageKind, string] => [
    kind,
    `${kind}-${index}`,
  ]),
);

describe("one agent takes a node with volumes over from the other", () => {
  let world: ClusterWorld;
  let driver: CsiDriver;
  const kinds = new Map<string, StorageKind>();
  /** As the first agent, a kubelet, writes them. */
  let recordShapes: readonly string[];

  beforeAll(async () => {
    // A kubelet finds the raw devices of pods again only where it sees the mounts that the one before it made.
    world = await ClusterWorld.start("kubelet", { hasMachinesMounts: true });
    driver = await CsiDriver.start({
      kubeletRoot: world.node.rootDir,
      kubeconfig: world.plane.kubeconfig,
      nodeId: "disk-host-1",
    });
    await world.kubectl.apply(...storageObjects(driver));
    for (const [kind, name] of firstPods) await start(kind, name);
    await world.api.until<Pod>(
      podsPath,
      (found) => found.length === firstPods.length && found.every(isReady),
      280_000,
    );
    recordShapes = shapesOf(world.node.rootDir);
  });

  afterAll(async () => {
    // Its socket is in the node's folder, which may be a mount.
    await driver.stop();
    await world.node.remove(world.runtime);
    detachLoopDevices(world.plane.folder);
    await world.close();
    await driver[Symbol.asyncDispose]();
  });

  /** Two pods share the claim of the first disk. */
  async function start(kind: StorageKind, name: string): Promise<void> {
    const claim = name === "disk-1" ? "disk-0" : name;
    if (claim === name) await createStorage(world, kind, name);
    await createPod(world.api, name, { spec: storagePod(kind, claim, driver.name) });
    kinds.set(name, kind);
  }

  async function marks(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [name, kind] of kinds) {
      const mark = await world.kubectl.run("exec", name, "--", "sh", "-c", readMark(kind));
      found.push(`${name}: ${mark.trim()}`);
    }
    return found;
  }

  /** What a swap must not change. */
  async function snapshot(): Promise<object> {
    const found = await world.api.list<Pod>(podsPath);
    return {
      pods: Object.fromEntries(
        found.map((pod) => [
          pod.metadata.name,
          { uid: pod.metadata.uid, containers: containersOf(pod), ready: isReady(pod) },
        ]),
      ),
      mounts: mountsOf(world.node.rootDir),
      records: recordsOf(world.node.rootDir),
      devices: driver.leftovers(),
    };
  }

  /** A kubelet takes what started just before it for new, and shows it unready until it is probed. */
  async function untilNoneIsYoung(): Promise<void> {
    const started = (await world.api.list<Pod>(podsPath))
      .flatMap(({ status }) => status?.containerStatuses ?? [])
      .map(({ state }) => Date.parse(state?.running?.startedAt ?? "1970-01-01T00:00:00Z"));
    await delay(Math.max(...started) + youngMs - Date.now());
  }

  /** Every volume that has to be attached, by the name that a node reports. */
  async function attachable(): Promise<readonly string[]> {
    const volumes = await world.api.list<PersistentVolume>(volumesPath);
    return volumes
      .flatMap(({ spec }) => spec?.csi?.volumeHandle ?? [])
      .map((handle) => `kubernetes.io/csi/${driver.name}^${handle}`)
      .toSorted();
  }

  /** Every list of volumes in use that the node had meanwhile, and every state of the Ready conditions of pods. */
  async function watch(
    during: () => Promise<void>,
  ): Promise<{ inUse: readonly string[]; ready: readonly string[] }> {
    const stop = new AbortController();
    const inUse = new Set<string>();
    const ready = new Set<string>();
    const { signal } = stop;
    const watching = [
      (async () => {
        for await (const [node] of world.api.states<Node>("/api/v1/nodes", signal)) {
          inUse.add((node?.status?.volumesInUse ?? []).toSorted().join(" "));
        }
      })(),
      (async () => {
        for await (const found of world.api.states<Pod>(podsPath, signal)) {
          for (const pod of found) ready.add(`${pod.metadata.name} ${isReady(pod)}`);
        }
      })(),
    ];
    await during();
    stop.abort();
    // Each ends with the abort; one that ended before would have missed what came then.
    const ends = await Promise.allSettled(watching);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    return { inUse: [...inUse], ready: [...ready].toSorted() };
  }

  /** Deletes pods, those of them that are not gone by force yet, and then what they alone use. */
  async function remove(names: readonly string[], pods: readonly string[] = names): Promise<void> {
    for (const name of pods) await world.api.delete(`${podsPath}/${name}`);
    const isGone = (found: readonly Pod[]): boolean =>
      !found.some(({ metadata }) => names.includes(metadata.name));
    await world.api.until<Pod>(podsPath, isGone, 180_000);
    for (const name of names) {
      const kind = kinds.get(name);
      kinds.delete(name);
      if (kind === "inline" || kind === "ephemeral" || name === "disk-1") continue;
      await world.api.delete(`${claimsPath}/${name}`);
      if (kind !== undefined && isLocal(kind)) {
        await world.api.delete(`${volumesPath}/${localVolumeName(name)}`);
      }
    }
  }

  /** Disks that were to be detached while they were staged. */
  function takenAway(): readonly object[] {
    const calls = driver.calls("ControllerUnpublishVolume");
    return calls.filter(({ code }) => code === "FailedPrecondition");
  }

  /** Only volumes of pods that are there are in use, and all of those. */
  async function untilOnlyUsed(): Promise<void> {
    const isSame = async (): Promise<boolean> => {
      const node = await world.api.get<Node>("/api/v1/nodes/node-a");
      const names = (await attachable()).join(" ");
      return (node.status?.volumesInUse ?? []).toSorted().join(" ") === names;
    };
    await expect.poll(isSame, { timeout: 120_000, interval: 500 }).toBe(true);
  }

  const rounds: readonly { from: NodeAgent; to: NodeAgent; round: number }[] = [
    { from: "kubelet", to: testedAgent, round: 1 },
    { from: testedAgent, to: "kubelet", round: 2 },
    { from: "kubelet", to: testedAgent, round: 3 },
  ];

  describe.each(rounds)("from $from to $to", ({ to, round }) => {
    test("no container, readiness, mount, record or device changes, and all volumes stay in use", async () => {
      await untilNoneIsYoung();
      const before = await snapshot();
      const content = await marks();
      const volumes = (await attachable()).join(" ");
      const seen = await watch(async () => {
        await world.node.stop();
        await world.startNode(to);
        await delay(settleMs);
      });
      expect(seen.inUse).toEqual([volumes]);
      expect(seen.ready).toEqual([...kinds.keys()].map((name) => `${name} true`).toSorted());
      expect(await snapshot()).toEqual(before);
      expect(await marks()).toEqual(content);
      expect(takenAway()).toEqual([]);
    });

    test("new pods of all kinds run, with records like the other agent's", async () => {
      for (const [kind] of pods) await start(kind, `${kind}-new-${round}`);
      for (const [kind] of pods)
        await untilPod(world.api, `${kind}-new-${round}`, isReady, 120_000);
      expect(shapesOf(world.node.rootDir)).toEqual(recordShapes);
      // Published, inline, staged, and of a raw device.
      expect(recordShapes).toHaveLength(4);
    });

    test("pods of both agents end, and leave nothing", async () => {
      const first = firstPods
        .filter(([, name]) => name.endsWith(`-${round}`))
        .map(([, name]) => name);
      const other = pods.map(([kind]) => `${kind}-new-${round - 1}`);
      const gone = [...first, ...other].filter((name) => kinds.has(name));
      await remove(gone);
      await untilOnlyUsed();
      expect(takenAway()).toEqual([]);
    });
  });

  test.each<{ to: NodeAgent }>([{ to: "kubelet" }, { to: testedAgent }])(
    "$to removes what was deleted while no agent ran",
    async ({ to }) => {
      const gone = pods.map(([kind]) => `${kind}-new-3`).filter((name) => kinds.has(name));
      const names = gone.length > 0 ? gone : [...kinds.keys()].slice(0, 8);
      await world.node.stop();
      for (const name of names) {
        await world.api.delete(`${podsPath}/${name}?gracePeriodSeconds=0`);
      }
      await world.startNode(to);
      await remove(names, []);
      await untilOnlyUsed();
      expect(takenAway()).toEqual([]);
    },
  );

  test("at the end everything can be deleted", async () => {
    await remove([...kinds.keys()]);
    await untilNoPods(world.api);
    await world.api.until(volumesPath, (found) => found.length === 0, 120_000);
    await world.api.until(attachmentsPath, (found) => found.length === 0, 120_000);
    await world.api.until<Node>(
      "/api/v1/nodes",
      ([node]) => (node?.status?.volumesInUse ?? []).length === 0,
    );
    expect(await world.leftovers(120_000)).toEqual([]);
    await expect.poll(() => driver.leftovers()).toEqual([]);
    expect(recordsOf(world.node.rootDir)).toEqual([]);
    expect(takenAway()).toEqual([]);
  });
});

/** Id, device and place of every mount below a folder: one that was made again has another id. */
function mountsOf(folder: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[4]?.startsWith(`${folder}/`))
    .toSorted();
}

/** The records of CSI volumes, by their place. */
function recordsOf(folder: string): readonly (readonly [string, string])[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith("/vol_data.json"))
    .toSorted()
    .map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
}

/** The kinds of records there are: byte for byte but for the values of their fields. */
function shapesOf(folder: string): readonly string[] {
  const shapes = recordsOf(folder).map(([name, text]) => {
    const place = name.split("/").filter((part) => /^[a-z.~A-Z_]+$/.test(part));
    return `${place.join("/")} ${text.replaceAll(/:"[^"]+"/g, ":VALUE")}`;
  });
  return [...new Set(shapes)].toSorted();
}
