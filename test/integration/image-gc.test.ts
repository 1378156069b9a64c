import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseEviction } from "../../src/app/eviction-options.ts";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { busyboxArchive } from "../../tools/images/busybox-image.ts";
import { podManifest } from "./support/agent-manifests.ts";
import { isReady } from "./support/agent-watch.ts";
import { InsideAgent } from "./support/inside-agent.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";
import { SmallDisk } from "./support/small-disk.ts";

const largeBytes = 25 * 2 ** 20;
const highThresholdPercent = 60;
const lowThresholdPercent = 40;

let disk: SmallDisk;
let world: RuntimeWorld;
let agent: InsideAgent;

beforeAll(async () => {
  disk = new SmallDisk(256);
  world = await startRuntimeWorld({ network: 93, folder: disk.folder });
  const eviction = parseEviction();
  const images = { highThresholdPercent, lowThresholdPercent, minAgeMs: 0, maxAgeMs: 0 };
  agent = await InsideAgent.start(world, { eviction: { ...eviction, images } });
});

afterAll(async () => {
  await agent?.stop();
  await world?.close();
  disk?.close();
});

const names = async (): Promise<readonly string[]> => {
  const images = await world.runtime.listImages(AbortSignal.timeout(60_000));
  return images.flatMap(({ repoTags = [] }) => repoTags);
};

/** An image whose content no other has. */
const addLargeImage = async (name: string): Promise<void> => {
  const { containerd, runtime } = world;
  const target = { images: runtime, ctr: containerd.tools.ctr, socket: containerd.paths.socket };
  const data = randomBytes(largeBytes);
  const files = [{ kind: "file" as const, path: "large", mode: 0o644, data }];
  const build = () => busyboxArchive({ names: [name], files, config: {} });
  await ensureImages(target, [{ name, build }], AbortSignal.timeout(60_000));
};

test("a full disk is freed of unused images; those in use and the sandboxes' own stay", async () => {
  agent.write("web", podManifest("web"));
  await agent.waitFor("web", isReady);
  const { view } = agent.agent;
  const signal = AbortSignal.timeout(60_000);
  expect(await view.planGc({ all: false }, signal)).toEqual([]);
  for (let count = 1; disk.usedPercent < highThresholdPercent; count += 1) {
    await addLargeImage(`example.com/large:${count}`);
  }
  const plan = await view.planGc({ all: false }, signal);
  expect(plan.length).toBeGreaterThan(0);
  expect(plan.every(({ kind }) => kind === "image")).toBe(true);
  expect(plan[0]?.because).toBe(
    "no container uses it, and the images' disk is over 60% full: freeing down to 40%",
  );
  const before = await names();
  expect(await view.collectGarbage({ all: false }, signal)).toEqual(plan);
  const planned = plan.map(({ name }) => name);
  expect((await names()).toSorted()).toEqual(
    before.filter((name) => !planned.includes(name)).toSorted(),
  );
  // The runtime frees the space a little later.
  await expect.poll(() => disk.usedPercent, { timeout: 60_000 }).toBeLessThan(highThresholdPercent);
  expect(await view.collectGarbage({ all: true }, signal)).not.toEqual([]);
  expect(await names()).toEqual(
    expect.arrayContaining(["docker.io/library/busybox:latest", "registry.k8s.io/pause:3.10"]),
  );
  expect((await names()).filter((name) => name.startsWith("example.com/"))).toEqual([]);
  await agent.waitFor("web", isReady);
});
