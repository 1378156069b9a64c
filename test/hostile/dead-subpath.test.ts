import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podUid } from "../../src/model/ids.ts";
import { podManifest, shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { isReady, waitForPod } from "../integration/support/agent-watch.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";
import { HungMount } from "../integration/support/hung-mount.ts";
import { podWith, VolumeWorld } from "../integration/support/volume-world.ts";

let world: VolumeWorld;
let hung: HungMount;

beforeEach(async () => {
  world = await VolumeWorld.create();
  hung = await HungMount.at(join(world.folder, "mnt/nfs"));
});

afterEach(async () => {
  await hung[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

test("pods with a sub path on a dead mount hold up themselves alone", async () => {
  const volumePath = join(world.folder, "mnt");
  // As many as Node has threads for files and names, and more.
  const stuck = Array.from({ length: 6 }, (_, index) => {
    const pod = podWith([{ name: "host", hostPath: { path: volumePath } }]);
    return { ...pod, metadata: { ...pod.metadata, uid: podUid(`stuck-${index}`) } };
  });
  const bind = async (pod: (typeof stuck)[number]) => {
    await world.mount(pod);
    const subPath = { volumePath, path: "nfs/data", mountIndex: 0 };
    return world.containerVolumes().bindSubPath(pod, "main", { name: "host", subPath });
  };
  const bound = Promise.all(stuck.map(bind));
  // While they wait, and after they were given up.
  await expectWorkingAgent("during");
  for (const result of await bound) {
    expect(result).toEqual({
      ok: false,
      error: 'failed to prepare subPath for volumeMount "host" of container "main"',
    });
  }
  await expectWorkingAgent("after");
});

async function expectWorkingAgent(uid: string): Promise<void> {
  expect(await readFile("/proc/self/stat", "utf8")).not.toBe("");
  expect((await lookup("localhost")).address).not.toBe("");
  const pod = podWith([{ name: "disk", emptyDir: {} }]);
  const started = await world.mount({ ...pod, metadata: { ...pod.metadata, uid: podUid(uid) } });
  expect(started.ok).toBe(true);
}

test("an agent goes on starting and removing pods beside those on a dead mount", async () => {
  const agent = await AgentWorld.start(152);
  try {
    const path = join(world.folder, "mnt");
    for (let index = 0; index < 5; index += 1) {
      const volumeMounts = [{ name: "host", mountPath: "/data", subPath: `nfs/data-${index}` }];
      const containers = [shell("main", untilStopped, { volumeMounts })];
      const volumes = [{ name: "host", hostPath: { path } }];
      agent.write(`stuck-${index}.json`, podManifest(`stuck-${index}`, { containers, volumes }));
    }
    for (let index = 0; index < 5; index += 1) {
      await waitForPod(agent.client, agent.podName(`stuck-${index}`), ({ status }) =>
        JSON.stringify(status ?? {}).includes("failed to prepare subPath"),
      );
    }
    const volumeMounts = [{ name: "disk", mountPath: "/disk", subPath: "part" }];
    const healthy = {
      containers: [shell("main", untilStopped, { volumeMounts })],
      volumes: [{ name: "disk", emptyDir: {} }],
    };
    agent.write("healthy.json", podManifest("healthy", healthy));
    const pod = await waitForPod(agent.client, agent.podName("healthy"), isReady);
    agent.remove("healthy.json");
    expect(await agent.tracesLeft([pod.metadata.uid])).toEqual([]);
  } finally {
    await agent.close();
  }
});
