import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, restartsOf, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("what is killed with SIGKILL", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(4);
  });
  afterAll(() => world.close());

  const ready = (name: string, isIt: (pod: Pod) => boolean = () => true): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), (pod) => isReady(pod) && isIt(pod));
  const pidOf = async ({ metadata }: Pod): Promise<number> =>
    world.pidOf(metadata.uid, (await world.containerIds(metadata.uid))["main"] ?? "");

  test("a container's process is restarted, and berth why reports it", async () => {
    world.write("victim.json", podManifest("victim"));
    world.write("bystander.json", podManifest("bystander"));
    const [victim, bystander] = await Promise.all([ready("victim"), ready("bystander")]);
    const before = await world.containerIds(bystander.metadata.uid);
    process.kill(await pidOf(victim), "SIGKILL");
    const again = await ready("victim", (pod) => restartsOf(pod) === 1);
    expect(again.metadata.uid).toBe(victim.metadata.uid);
    expect(again.status?.podIP).toBe(victim.status?.podIP);
    expect(again.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
      exitCode: 137,
    });
    expect(await world.containerIds(bystander.metadata.uid)).toEqual(before);
    const why = await world.berth("why", "victim");
    expect(why.code).toBe(0);
    expect(why.stdout).toMatch(/1 (\(.* ago\) )?restarts/);
    expect(why.stdout).toMatch(/start .*main.*: done/i);
    expect(why.stdout).toMatch(/because .*(dead|exited|ended|terminated|137)/i);
  });

  test("a sandbox's process makes the pod run in a new one, with the same UID", async () => {
    world.write("nest.json", podManifest("nest"));
    const before = await ready("nest");
    process.kill(await world.sandboxPid(before.metadata.uid), "SIGKILL");
    const after = await ready("nest", (pod) => restartsOf(pod) === 1);
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(await world.sandboxPid(after.metadata.uid)).toBeGreaterThan(1);
  });

  test("containerd comes back within seconds, no container is restarted, and work goes on", async () => {
    const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 1 };
    const containers = [shell("main", untilStopped, { readinessProbe })];
    world.write("survivor.json", podManifest("survivor", { containers }));
    const survivor = await ready("survivor");
    const pid = await pidOf(survivor);
    const containerd = world.containerdPid();
    process.kill(containerd, "SIGKILL");
    world.write("newcomer.json", podManifest("newcomer"));
    await ready("newcomer");
    expect(world.containerdPid()).not.toBe(containerd);
    expect(await pidOf(survivor)).toBe(pid);
    const now = await ready("survivor");
    expect(restartsOf(now)).toBe(0);
    // The agent receives exits again.
    process.kill(await pidOf(now), "SIGKILL");
    await ready("survivor", (pod) => restartsOf(pod) === 1);
  });

  test("containerd is followed after every end, though nothing happens in the pods", async () => {
    const resting = ["rest-1", "rest-2", "rest-3", "rest-4"];
    for (const name of resting) world.write(`${name}.json`, podManifest(name));
    for (const name of resting) await ready(name);
    for (let round = 1; round <= 4; round += 1) {
      process.kill(world.containerdPid(), "SIGKILL");
      world.write(`after-${round}.json`, podManifest(`after-${round}`));
      await ready(`after-${round}`);
    }
    for (const name of resting) expect(restartsOf(await ready(name))).toBe(0);
  });

  test("the agent leaves its containerd and pods running, and the next one takes them over", async () => {
    world.write("orphan.json", podManifest("orphan"));
    const orphan = await ready("orphan");
    world.write("leaver.json", podManifest("leaver"));
    const leaver = await ready("leaver");
    const before = { pid: await pidOf(orphan), containerd: world.containerdPid() };
    await world.agent.stop("SIGKILL");
    // What is changed while no agent runs is done by the next one.
    world.remove("leaver.json");
    world.write("late.json", podManifest("late"));
    expect(await pidOf(orphan)).toBe(before.pid);
    await world.up();
    await ready("late");
    expect({ pid: await pidOf(orphan), containerd: world.containerdPid() }).toEqual(before);
    const now = await ready("orphan");
    expect(now.status).toEqual(orphan.status);
    expect(await world.tracesLeft([leaver.metadata.uid])).toEqual([]);
  });

  test("the agent in the middle of an ending is followed by one that completes it", async () => {
    const slow = shell("main", "trap 'sleep 2; exit 0' TERM; sleep 3600 & wait");
    world.write("ending.json", podManifest("ending", { containers: [slow] }));
    const pod = await ready("ending");
    world.remove("ending.json");
    await waitForPod(
      world.client,
      pod.metadata.name,
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    await world.agent.stop("SIGKILL");
    await world.up();
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
  });
});
