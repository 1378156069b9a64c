import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test, vi } from "vitest";
import { ContainerState, PodSandboxState } from "../../src/model/generated/cri.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilTold } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("crashes while pods start and end", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(7);
  });
  afterAll(() => world.close());

  beforeEach(() => {
    onTestFailed(() => console.error(world.agent.stderr));
  });

  const names = ["one", "two", "three", "four"];
  const spec = {
    initContainers: [
      shell("prepare", "sleep 0.1"),
      shell("beside", untilTold, { restartPolicy: "Always" }),
    ],
    containers: [shell("main", untilTold), shell("second", untilTold)],
  };
  const allReady = (): Promise<Pod[]> =>
    Promise.all(names.map((name) => waitForPod(world.client, world.podName(name), isReady)));

  /** Every pod has one sandbox that is ready, and every container of it runs once. */
  const expectOneOfEach = async (pods: readonly Pod[]): Promise<void> => {
    const signal = AbortSignal.timeout(10_000);
    const sandboxes = await world.runtime.listPodSandboxes({}, signal);
    const state = { state: ContainerState.CONTAINER_RUNNING };
    const containers = await world.runtime.listContainers({ state }, signal);
    for (const { metadata } of pods) {
      const isOf = (labels: Readonly<Record<string, string>> | undefined): boolean =>
        labels?.["io.kubernetes.pod.uid"] === metadata.uid;
      const ready = sandboxes.filter(
        ({ labels, state }) => isOf(labels) && state === PodSandboxState.SANDBOX_READY,
      );
      expect(ready).toHaveLength(1);
      const running = containers.filter(({ labels }) => isOf(labels));
      expect(running.map((container) => container.metadata?.name).toSorted()).toEqual([
        "beside",
        "main",
        "second",
      ]);
    }
  };
  const expectNothingLeft = async (uids: readonly string[]): Promise<void> => {
    await vi.waitFor(
      async () => {
        const traces = await Promise.all(uids.map((uid) => world.tracesOf(uid)));
        expect(traces.flat()).toEqual([]);
      },
      { timeout: 30_000, interval: 100 },
    );
  };

  test("an agent that is killed again and again still starts every pod once", async () => {
    for (const name of names) world.write(`${name}.json`, podManifest(name, spec));
    // Each agent sees a little more happen before it is killed.
    for (const most of [1, 5, 9, 13, 17]) {
      const ready = new Set<string>();
      let changes = 0;
      const watch = world.client.watchPods(undefined, {}, AbortSignal.timeout(20_000));
      for await (const { pod } of watch) {
        changes++;
        if (isReady(pod)) ready.add(pod.metadata.uid);
        if (changes >= most || ready.size === names.length) break;
      }
      await world.agent.stop("SIGKILL");
      await world.up();
    }
    await expectOneOfEach(await allReady());
  });

  test("an agent that is killed while pods end leaves nothing of them either", async () => {
    const pods = await allReady();
    for (const name of names) world.remove(`${name}.json`);
    for await (const { pod } of world.client.watchPods(
      undefined,
      {},
      AbortSignal.timeout(20_000),
    )) {
      if (pod.metadata.deletionTimestamp !== undefined) break;
    }
    await world.agent.stop("SIGKILL");
    await world.up();
    await expectNothingLeft(pods.map(({ metadata }) => metadata.uid));
  });

  test("a containerd that is killed while pods start and end delays them only", async () => {
    for (const name of names) world.write(`${name}.json`, podManifest(name, spec));
    await waitForPod(
      world.client,
      world.podName("one"),
      ({ status }) => status?.podIP !== undefined,
    );
    process.kill(world.containerdPid(), "SIGKILL");
    const pods = await allReady();
    await expectOneOfEach(pods);
    for (const name of names) world.remove(`${name}.json`);
    await waitForPod(
      world.client,
      world.podName("one"),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    process.kill(world.containerdPid(), "SIGKILL");
    await expectNothingLeft(pods.map(({ metadata }) => metadata.uid));
  });
});
