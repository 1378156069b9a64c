import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  Container,
  Node,
  ResourceRequirements,
} from "../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { DevicePlugin } from "../integration/support/device-plugin.ts";
import { type NodeAgent, testedAgent } from "./support/cluster-node.ts";
import {
  containersOf,
  createPod,
  isReady,
  podsPath,
  untilNoPods,
  untilPod,
} from "./support/cluster-pods.ts";
import { DraWorld } from "./support/dra-world.ts";
import { eventually } from "./support/eventually.ts";

const timeoutMs = 120_000;
// Longer than an agent takes to sync every pod and to set the CPUs of every container.
const settleMs = 15_000;
const youngMs = 12_000;
const resource = "example.com/device";

const checkpoints = [
  "device-plugins/kubelet_internal_checkpoint",
  "cpu_manager_state",
  "memory_manager_state",
  "dra_manager_state",
];

/** Whole CPUs in a Guaranteed pod. */
const own: ResourceRequirements = limited({ cpu: "1", memory: "32Mi" });

/** Of the device plugin's four devices two are held, and CPU 1 belongs to one container. */
const pods: Readonly<Record<string, readonly Container[]>> = {
  devices: [holding(limited({ [resource]: "2" }))],
  pinned: [holding(own)],
  plain: [holding({ requests: { memory: "16Mi" } })],
};
const names = [...Object.keys(pods), "claiming"];

function limited(resources: Readonly<Record<string, string>>): ResourceRequirements {
  return { requests: resources, limits: resources };
}

function holding(resources: ResourceRequirements): Container {
  return shell("main", untilStopped, { resources });
}

describe("one agent takes a node with devices and pinned CPUs over from the other", () => {
  let world: DraWorld;
  let plugin: DevicePlugin;

  beforeAll(async () => {
    world = await DraWorld.start("kubelet", {
      cpuManagerPolicy: "static",
      cpuManagerReconcilePeriod: "1s",
      reservedSystemCPUs: "0",
      memoryManagerPolicy: "Static",
      systemReserved: { memory: "128Mi" },
      reservedMemory: [{ numaNode: 0, limits: { memory: "128Mi" } }],
    });
    plugin = await startPlugin();
    await world.createTemplate("one");
    for (const [name, containers] of Object.entries(pods)) {
      await createPod(world.cluster.api, name, { spec: { containers } });
    }
    await world.createPod("claiming", { resourceClaimTemplateName: "one" });
    for (const name of names) await untilPod(world.cluster.api, name, isReady, timeoutMs);
    await untilCpus();
  });

  afterAll(async () => {
    await plugin?.kill();
    await world?.close();
  });

  async function startPlugin(): Promise<DevicePlugin> {
    const folder = join(world.cluster.node.rootDir, "device-plugins");
    const started = await DevicePlugin.start({
      folder,
      resource,
      devices: ["a", "b", "c", "d"],
    });
    await untilAllocatable("4");
    return started;
  }

  async function untilAllocatable(amount: string): Promise<void> {
    await world.cluster.api.until<Node>(
      "/api/v1/nodes",
      ([node]) => node?.status?.allocatable?.[resource] === amount,
      timeoutMs,
    );
  }

  const pod = (name: string): Promise<Pod> => untilPod(world.cluster.api, name, () => true);

  /** What the container's own cgroup, and its environment, say. */
  async function inside(name: string): Promise<string> {
    const { status } = await pod(name);
    const found = status?.containerStatuses?.find((one) => one.name === "main");
    const { stdout } = await world.cluster.runtime.runtime.execSync(
      runtimeContainerId((found?.containerID ?? "").replace("containerd://", "")),
      ["sh", "-c", `cat ${cpusFile}; env | grep -E '^(DEVICES|claim_)' || true`],
      60,
      AbortSignal.timeout(timeoutMs),
    );
    return new TextDecoder().decode(stdout).trim();
  }

  /** A container's CPUs may be set only after it has started. */
  async function untilCpus(): Promise<void> {
    await eventually(
      () => inside("pinned"),
      (text) => text === "1",
      timeoutMs,
    );
    for (const name of ["devices", "plain", "claiming"]) {
      await eventually(
        () => inside(name),
        (text) => /^0(\n|$)/.test(text),
        timeoutMs,
      );
    }
  }

  /** What a swap must not change. */
  async function snapshot(): Promise<object> {
    const found = await world.cluster.api.list<Pod>(podsPath);
    const entries = found.map(async (one) => {
      const { name, uid } = one.metadata;
      const { conditions, containerStatuses, resourceClaimStatuses } = one.status ?? {};
      const state = {
        uid,
        conditions,
        resourceClaimStatuses,
        // A kubelet lists the devices of a container in any order.
        health: withoutOrder(
          containerStatuses?.map(({ allocatedResourcesStatus }) => allocatedResourcesStatus),
        ),
        containers: containersOf(one),
        inside: await inside(name),
        api: withoutOrder(world.podResources(name)),
      };
      return [name, state] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  /** By file, what is in it: lists whose order means nothing are sorted. */
  async function written(): Promise<Readonly<Record<string, unknown>>> {
    const present = (await world.cluster.api.list<Pod>(podsPath)).map(
      ({ metadata }) => metadata.uid,
    );
    // A kubelet forgets the devices of pods that are gone only when it hands out the next ones.
    const isOfGonePod = (value: unknown): boolean =>
      typeof value === "object" &&
      value !== null &&
      "PodUID" in value &&
      present.every((uid) => uid !== value.PodUID);
    return Object.fromEntries(
      checkpoints.map((name) => {
        const text = readFileSync(join(world.cluster.node.rootDir, name), "utf8");
        const content: unknown = JSON.parse(text, (_key, value: unknown) =>
          Array.isArray(value) ? value.filter((part) => !isOfGonePod(part)) : value,
        );
        return [name, withoutOrder(content)];
      }),
    );
  }

  /** Every state that a pod's Ready condition had meanwhile. */
  async function watchReady(during: () => Promise<void>): Promise<readonly string[]> {
    const stop = new AbortController();
    const seen = new Set<string>();
    const watching = (async () => {
      for await (const found of world.cluster.api.states<Pod>(podsPath, stop.signal)) {
        for (const one of found) seen.add(`${one.metadata.name} ${isReady(one)}`);
      }
    })();
    await during();
    stop.abort();
    // It ends with the abort; one that ended before would have missed what came then.
    await expect(watching).rejects.toThrow("aborted");
    return [...seen].toSorted();
  }

  /** A kubelet takes what started just before it for new, and shows it unready until it is probed. */
  async function untilNoneIsYoung(): Promise<void> {
    const started = (await world.cluster.api.list<Pod>(podsPath))
      .flatMap(({ status }) => status?.containerStatuses ?? [])
      .map(({ state }) => Date.parse(state?.running?.startedAt ?? "1970-01-01T00:00:00Z"));
    await delay(Math.max(...started) + youngMs - Date.now());
  }

  const rounds: readonly { from: NodeAgent; to: NodeAgent; round: number }[] = [
    { from: "kubelet", to: testedAgent, round: 1 },
    { from: testedAgent, to: "kubelet", round: 2 },
    { from: "kubelet", to: testedAgent, round: 3 },
  ];

  describe.each(rounds)("from $from to $to", ({ to, round }) => {
    test("no container, readiness, CPU, device, claim or checkpoint changes", async () => {
      await untilNoneIsYoung();
      const before = await snapshot();
      const files = await written();
      const allocations = plugin.allocations.length;
      const prepared = world.driver.ended("NodeUnprepareResources").length;
      const seen = await watchReady(async () => {
        await world.cluster.node.stop();
        await world.cluster.startNode(to);
        await untilAllocatable("4");
        await delay(settleMs);
      });
      expect(seen).toEqual(
        Object.keys(before)
          .map((name) => `${name} true`)
          .toSorted(),
      );
      expect(await snapshot()).toEqual(before);
      expect(await written()).toEqual(files);
      // Nothing was handed out again or given back.
      expect(plugin.allocations).toHaveLength(allocations);
      expect(world.driver.ended("NodeUnprepareResources")).toHaveLength(prepared);
    });

    test("a container that restarts gets exactly what it had from the other agent", async () => {
      for (const name of ["devices", "pinned", "claiming"]) {
        const before = await pod(name);
        const had = await inside(name);
        const resources = world.podResources(name);
        const id = before.status?.containerStatuses?.find((one) => one.name === "main");
        await world.cluster.runtime.runtime.stopContainer(
          runtimeContainerId((id?.containerID ?? "").replace("containerd://", "")),
          0,
          AbortSignal.timeout(timeoutMs),
        );
        await untilPod(
          world.cluster.api,
          name,
          (found) => isReady(found) && mainRestarts(found) === mainRestarts(before) + 1,
          timeoutMs,
        );
        await expect.poll(() => inside(name), { timeout: timeoutMs }).toBe(had);
        expect(world.podResources(name)).toEqual(resources);
      }
    });

    test("a plugin that was restarted meanwhile hands out only what is free", async () => {
      await plugin.kill();
      await world.cluster.node.stop("SIGKILL");
      await world.cluster.startNode(to);
      plugin = await startPlugin();
      const name = `new-${round}`;
      await createPod(world.cluster.api, name, {
        spec: { containers: [holding(limited({ [resource]: "2" }))] },
      });
      await untilPod(world.cluster.api, name, isReady, timeoutMs);
      const held = (await inside("devices")).split("DEVICES=")[1] ?? "";
      const got = (await inside(name)).split("DEVICES=")[1] ?? "";
      expect(`${held},${got}`.split(",").toSorted()).toEqual(["a", "b", "c", "d"]);
      await world.cluster.api.delete(`${podsPath}/${name}`);
      await untilNoPods(world.cluster.api, `?fieldSelector=metadata.name=${name}`, timeoutMs);
      await untilCpus();
    });
  });

  test("at the end everything can be deleted, and belongs to no pod any more", async () => {
    await world.cluster.kubectl.run("delete", "pods", "--all", "--wait=false");
    await untilNoPods(world.cluster.api, "", timeoutMs);
    expect(await world.cluster.leftovers(timeoutMs)).toEqual([]);
    expect(world.driver.specs()).toEqual([]);
    expect(world.checkpoint()).toContain('\\"ClaimInfoStateList\\":[]');
  });
});

const cpusFile = "/sys/fs/cgroup/cpuset/cpuset.cpus";

function mainRestarts({ status }: Pod): number {
  return status?.containerStatuses?.find(({ name }) => name === "main")?.restartCount ?? -1;
}

/** The same with its lists sorted; the checksum of a checkpoint depends on their order. */
function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) {
    const parts = value.map(withoutOrder);
    return parts.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([key]) => key !== "Checksum" && key !== "checksum");
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutOrder(field)]));
}
