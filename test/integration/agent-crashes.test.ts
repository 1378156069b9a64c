import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";
import { ContainerState, PodSandboxState } from "../../src/model/generated/cri.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
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
      shell("beside", untilStopped, { restartPolicy: "Always" }),
    ],
    containers: [shell("main", untilStopped), shell("second", untilStopped)],
  };
  const allReady = (): Promise<Pod[]> =>
    Promise.all(names.map((name) => waitForPod(world.client, world.podName(name), isReady)));

  const isEnding = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

  /** By pod: its sandboxes that are ready and its containers that run. */
  const whatRuns = async (pods: readonly Pod[]): Promise<readonly string[][]> => {
    const signal = AbortSignal.timeout(60_000);
    const sandboxes = await world.runtime.listPodSandboxes({}, signal);
    const containers = await world.runtime.listContainers({}, signal);
    const running = [
      ...sandboxes
        .filter(({ state }) => state === PodSandboxState.SANDBOX_READY)
        .map(({ labels }) => ({ labels, name: "sandbox" })),
      ...containers
        .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
        .map(({ labels, metadata }) => ({ labels, name: metadata?.name ?? "" })),
    ];
    return pods.map(({ metadata }) =>
      running
        .filter(({ labels }) => labels?.["io.kubernetes.pod.uid"] === metadata.uid)
        .map(({ name }) => name)
        .toSorted((a, b) => a.localeCompare(b)),
    );
  };
  const oneOfEach = names.map(() => ["beside", "main", "sandbox", "second"]);
  const uidsOf = (pods: readonly Pod[]): readonly string[] =>
    pods.map(({ metadata }) => metadata.uid);

  test("an agent that is killed again and again still starts every pod once", async () => {
    for (const name of names) world.write(`${name}.json`, podManifest(name, spec));
    // Each agent sees a little more happen before it is killed.
    for (const most of [1, 5, 9, 13, 17]) {
      const ready = new Set<string>();
      let changes = 0;
      const watch = world.client.watchPods(undefined, {}, AbortSignal.timeout(60_000));
      for await (const { pod } of watch) {
        changes++;
        if (isReady(pod)) ready.add(pod.metadata.uid);
        if (changes >= most || ready.size === names.length) break;
      }
      await world.agent.stop("SIGKILL");
      await world.up();
    }
    expect(await whatRuns(await allReady())).toEqual(oneOfEach);
  });

  test("an agent that is killed while pods end leaves nothing of them either", async () => {
    const pods = await allReady();
    for (const name of names) world.remove(`${name}.json`);
    await waitForPod(world.client, world.podName("one"), isEnding);
    await world.agent.stop("SIGKILL");
    await world.up();
    expect(await world.tracesLeft(uidsOf(pods))).toEqual([]);
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
    expect(await whatRuns(pods)).toEqual(oneOfEach);
    for (const name of names) world.remove(`${name}.json`);
    await waitForPod(world.client, world.podName("one"), isEnding);
    process.kill(world.containerdPid(), "SIGKILL");
    expect(await world.tracesLeft(uidsOf(pods))).toEqual([]);
  });
});
