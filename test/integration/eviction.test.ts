import { totalmem } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseEviction } from "../../src/app/eviction-options.ts";
import { parseThresholds } from "../../src/core/eviction/parse-thresholds.ts";
import { openMemoryGauge } from "../../src/drivers/linux/open-cgroups.ts";
import type { GcItem } from "../../src/model/gc-item.ts";
import type { Pod } from "../../src/model/pod.ts";
import { eventMessages } from "./support/agent-inside.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { InsideAgent } from "./support/inside-agent.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

const mebibyte = 2 ** 20;
/** Less on a machine with less than 8 GiB. */
const share = Math.min(1, totalmem() / (8192 * mebibyte));

function isEvicted({ status }: Pod): boolean {
  return status?.phase === "Failed" && status.reason === "Evicted";
}

describe("disk limits of pods", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(91);
  });
  afterAll(() => world.close());

  test("a pod that fills its empty dir past the limit is evicted, and one within its limit stays", async () => {
    const pod = (name: string, megabytes: number): void => {
      const script = `head -c ${megabytes}000000 /dev/zero > /scratch/file; ${untilStopped}`;
      const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
      const volumes = [{ name: "scratch", emptyDir: { sizeLimit: "2Mi" } }];
      const containers = [shell("main", script, { volumeMounts })];
      world.write(`${name}.json`, podManifest(name, { containers, volumes }));
    };
    pod("modest", 1);
    pod("greedy", 5);
    const evicted = await waitForPod(world.client, world.podName("greedy"), isEvicted, 100_000);
    const message = 'Usage of EmptyDir volume "scratch" exceeds the limit "2Mi". ';
    expect(evicted.status).toMatchObject({ phase: "Failed", reason: "Evicted", message });
    expect(await eventMessages(world, evicted, "Evicted")).toEqual([message]);
    await waitForPod(world.client, world.podName("modest"), isReady);
  });

  test("a pod whose container writes more than its limit is evicted, wherever it writes", async () => {
    const pod = (name: string, script: string): void => {
      const resources = { limits: { "ephemeral-storage": "2Mi" } };
      const containers = [shell("main", `${script}; ${untilStopped}`, { resources })];
      world.write(`${name}.json`, podManifest(name, { containers }));
    };
    pod("layer", "head -c 5000000 /dev/zero > /tmp/file");
    pod("talker", "head -c 5000000 /dev/zero | tr '\\0' x | fold -w 1000");
    pod("teller", "head -c 5000000 /dev/zero > /dev/termination-log");
    for (const name of ["layer", "talker", "teller"]) {
      const evicted = await waitForPod(world.client, world.podName(name), isEvicted, 100_000);
      expect(evicted.status?.message).toBe(
        "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ",
      );
    }
  });

  test("berth gc shows what an ended pod leaves, and removes it on demand", async () => {
    const containers = [shell("main", "exit 0")];
    world.write("job.json", podManifest("job", { restartPolicy: "Never", containers }));
    const job = await waitForPod(
      world.client,
      world.podName("job"),
      ({ status }) => status?.phase === "Succeeded",
    );
    const plan = async (...flags: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await world.berth("gc", "-o", "json", ...flags);
      const { items } = JSON.parse(stdout) as { readonly items: readonly GcItem[] };
      return items.map(({ kind, name, because }) => `${kind} ${name}: ${because}`);
    };
    const container = `container default/${world.podName("job")}/main: its pod has ended`;
    await expect.poll(() => plan("--plan", "--all")).toContain(container);
    expect(await plan("--all")).toContain(container);
    expect(await plan("--plan", "--all")).not.toContain(container);
    expect(await world.containerIds(job.metadata.uid)).toEqual({});
  });
});

describe("a node that runs short of memory", () => {
  let world: RuntimeWorld;
  let agent: InsideAgent;
  beforeAll(async () => {
    world = await startRuntimeWorld({ network: 92 });
  });
  afterAll(async () => {
    await agent?.stop();
    await world.close();
  });

  /** A pod that holds so much memory, in files. */
  const hold = (name: string, mebibytes: number, request?: string): void => {
    const fill = "dd if=/dev/zero of=/memory/$i bs=1M count=20 2>/dev/null";
    const script = `for i in $(seq ${Math.floor(mebibytes / 20)}); do ${fill}; done; touch /tmp/full; ${untilStopped}`;
    const main = shell("main", script, {
      volumeMounts: [{ name: "memory", mountPath: "/memory" }],
      readinessProbe: { exec: { command: ["cat", "/tmp/full"] }, periodSeconds: 1 },
      ...(request === undefined ? {} : { resources: { requests: { memory: request } } }),
    });
    const volumes = [{ name: "memory", emptyDir: { medium: "Memory" } }];
    agent.write(name, podManifest(name, { containers: [main], volumes }));
  };

  test("ends the pod that holds most of what it did not ask for, and no other", async () => {
    // Others use this machine, too: what is free may change by this while the test runs.
    const spareMebibytes = 3000 * share;
    const { thresholds, policy, images } = parseEviction();
    const used = openMemoryGauge().usedBytes("/") ?? 0;
    const availableBytes = totalmem() - used;
    const parsed = parseThresholds({
      evictionHard: { "memory.available": String(availableBytes - spareMebibytes * mebibyte) },
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    });
    if (!parsed.ok) throw new Error(parsed.error);
    expect(thresholds.thresholds.length).toBeGreaterThan(0);
    agent = await InsideAgent.start(world, {
      eviction: { thresholds: parsed.value, policy, images },
    });
    hold("guarded", 1500 * share, `${Math.round(2048 * share)}Mi`);
    hold("small", 200 * share);
    await agent.waitFor("guarded", isReady);
    await agent.waitFor("small", isReady);
    expect(agent.agent.view.listPods().filter(isEvicted)).toEqual([]);
    hold("hog", 6000 * share);
    const evicted = await agent.waitFor("hog", isEvicted);
    expect(evicted.status?.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: \d+\w*, available: \d+\w*\. Container main was using \d+\w*, request is 0, has larger consumption of memory\. $/,
    );
    expect(evicted.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", reason: "TerminationByKubelet" }),
    );
    const others = agent.agent.view.listPods().filter((pod) => !isEvicted(pod));
    expect(others.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      "guarded-node",
      "small-node",
    ]);
  });
});
