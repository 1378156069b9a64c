import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { imagePod, isRunning, waitingOf } from "./support/image-pods.ts";
import { Registry } from "./support/registry.ts";
import { StallingProxy } from "./support/stalling-proxy.ts";

describe("images of a registry", () => {
  let world: AgentWorld;
  let registry: Registry;

  beforeAll(async () => {
    registry = await Registry.start();
    world = await AgentWorld.create(80);
    await world.up();
  });

  afterAll(async () => {
    await world.close();
    await registry.close();
  });

  function untilRunning(name: string, timeoutMs?: number): Promise<Pod> {
    return waitForPod(world.client, world.podName(name), isRunning, timeoutMs);
  }

  function untilWaiting(name: string, reason: string): Promise<Pod> {
    return waitForPod(
      world.client,
      world.podName(name),
      (pod) => waitingOf(pod)?.reason === reason,
    );
  }

  async function eventsOf(pod: Pod): Promise<readonly string[]> {
    const events = await world.client.listEvents(pod, AbortSignal.timeout(60_000));
    return events.map(({ reason, message }) => `${reason}: ${message}`);
  }

  async function end(file: string, pod: Pod): Promise<void> {
    world.remove(file);
    await waitUntilGone(world.client, pod.metadata.uid);
  }

  test("are pulled when they are absent, and used without the registry when they are there", async () => {
    const image = `${registry.address}/policies:1`;
    await registry.push("policies", "1", "policies");
    world.write("absent.json", imagePod({ name: "absent", image, policy: "Never" }));
    const refused = await untilWaiting("absent", "ErrImageNeverPull");
    expect(waitingOf(refused)?.message).toBe(
      `Container image "${image}" is not present with pull policy of Never`,
    );
    world.write("first.json", imagePod({ name: "first", image }));
    const first = await untilRunning("first");
    const events = await eventsOf(first);
    expect(events).toContain(`Pulling: Pulling image "${image}"`);
    expect(events.some((text) => text.startsWith("Pulled: Successfully pulled image"))).toBe(true);
    // The pod that must not pull proceeds by itself, too.
    const absent = await untilRunning("absent");

    await registry.kill();
    world.write("second.json", imagePod({ name: "second", image }));
    const second = await untilRunning("second");
    expect(await eventsOf(second)).toContain(
      `Pulled: Container image "${image}" already present on machine and can be accessed by the pod`,
    );
    world.write("always.json", imagePod({ name: "always", image, policy: "Always" }));
    const failed = await untilWaiting("always", "ImagePullBackOff");
    expect(waitingOf(failed)?.message).toContain(
      `Back-off pulling image "${image}": ErrImagePull: `,
    );
    await registry.run();
    const always = await untilRunning("always", 60_000);

    await end("absent.json", absent);
    await end("first.json", first);
    await end("second.json", second);
    await end("always.json", always);
  });

  test("are pulled by their digest", async () => {
    const digest = await registry.push("exact", "1", "exact 1");
    await registry.push("exact", "1", "exact 2");
    const image = `${registry.address}/exact@${digest}`;
    world.write("exact.json", imagePod({ name: "exact", image, policy: "Always" }));
    const pod = await untilRunning("exact");
    expect(pod.status?.containerStatuses?.[0]?.imageID).toBe(image);
    const { main = "" } = await world.containerIds(pod.metadata.uid);
    const content = await world.runtime.execSync(
      runtimeContainerId(main),
      ["cat", "/content"],
      60,
      AbortSignal.timeout(60_000),
    );
    expect(Buffer.from(content.stdout ?? []).toString()).toBe("exact 1");
    await end("exact.json", pod);
  });

  test("with a name that is none are refused by it", async () => {
    world.write("bad.json", imagePod({ name: "bad", image: `${registry.address}/Bad` }));
    const pod = await untilWaiting("bad", "InvalidImageName");
    expect(waitingOf(pod)?.message).toContain("must be lowercase");
    await end("bad.json", pod);
  });

  test("of a registry that hangs hold up no other pod and no deletion", async () => {
    const silent = await StallingProxy.start(undefined, 0);
    try {
      const image = `${silent.address}/never:1`;
      world.write("hung.json", imagePod({ name: "hung", image }));
      const hung = await waitForPod(world.client, world.podName("hung"), (pod) =>
        (waitingOf(pod)?.message ?? "").startsWith(`Pulling image "${image}" since `),
      );
      expect(waitingOf(hung)?.reason).toBe("ContainerCreating");
      const name = world.podName("hung");
      const watching = world.start("get", "pod", name, "-w");
      await watching.untilPrinted(({ stdout }) => stdout.includes(`(pulling ${image})`));
      await watching.stop("SIGINT");
      expect((await world.berth("why", name)).stdout).toContain(
        `container main: Pulling image "${image}" since `,
      );
      expect((await world.berth("describe", "pod", name)).stdout).toContain(
        `Pulling image "${image}" since `,
      );

      await registry.push("other", "1", "other");
      const otherImage = `${registry.address}/other:1`;
      world.write("other.json", imagePod({ name: "other", image: otherImage }));
      const other = await untilRunning("other");
      world.remove("hung.json");
      await waitUntilGone(world.client, hung.metadata.uid);
      expect(await world.tracesLeft([hung.metadata.uid])).toEqual([]);
      await end("other.json", other);
    } finally {
      await silent.close();
    }
  });

  test("of a registry that dies while they are pulled arrive when it is back", async () => {
    await registry.push("large", "1", randomBytes(8 * 1024 * 1024));
    const proxy = await StallingProxy.start(registry.port, 1024 * 1024);
    try {
      const image = `${proxy.address}/large:1`;
      world.write("dying.json", imagePod({ name: "dying", image }));
      await proxy.untilStalled();
      const name = world.podName("dying");
      await waitForPod(world.client, name, (pod) =>
        / since \S+, 1\.\d of \d+\.\d MB \(\d+%\)$/.test(waitingOf(pod)?.message ?? ""),
      );
      expect((await world.berth("get", "pod", name)).stdout).toMatch(/\(pulling \S+, \d+%\)/);
      await registry.kill();
      proxy.flow();
      const failed = await untilWaiting("dying", "ImagePullBackOff");
      expect(waitingOf(failed)?.message).toContain("ErrImagePull");
      await registry.run();
      const pod = await untilRunning("dying", 60_000);
      expect(await eventsOf(pod)).toContain("Failed: Error: ErrImagePull");
      await end("dying.json", pod);
    } finally {
      await proxy.close();
    }
  });
});
