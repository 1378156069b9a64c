import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { StorageManager } from "../../src/engine/volumes/storage-manager.ts";
import { podUid } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { HungMount } from "../integration/support/hung-mount.ts";
import { podWith, VolumeWorld } from "../integration/support/volume-world.ts";

const fileBytes = 3 * 1024 * 1024;

let world: VolumeWorld;
let manager: StorageManager;
let stop: AbortController;

beforeEach(async () => {
  world = await VolumeWorld.create();
  manager = world.manager();
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await world[Symbol.asyncDispose]();
});

/** A pod with an emptyDir that holds a file of three mebibytes. */
async function addPod(uid: string): Promise<{ pod: Pod; folder: string }> {
  const made = podWith([{ name: "disk", emptyDir: {} }]);
  const pod = { ...made, metadata: { ...made.metadata, name: uid, uid: podUid(uid) } };
  await world.mount(pod);
  const folder = manager.mountedVolumes(podUid(uid)).get("disk")?.path ?? "";
  writeFileSync(join(folder, "file"), Buffer.alloc(fileBytes, 1));
  return { pod, folder };
}

test.each([
  // A mount inside is passed over, and the rest of the volume is counted.
  ["in a folder of an emptyDir", "a/hung", fileBytes],
  ["over a whole emptyDir", ".", 0],
])("a mount that hangs %s leaves other pods' usage known", async (_, place, stillUsedBytes) => {
  const attacker = await addPod("attacker");
  const victims = [await addPod("one"), await addPod("two"), await addPod("three")];
  await using mount = await HungMount.at(join(attacker.folder, place));
  const usage = world.usage();
  const running = usage.run(stop.signal);
  const usedBytes = (uid: string): number =>
    usage.latest(podUid(uid))?.ephemeral.find(({ name }) => name === "disk")?.usedBytes ?? 0;
  for (const { pod } of victims) {
    await expect.poll(() => usedBytes(pod.metadata.uid)).toBeGreaterThanOrEqual(fileBytes);
  }
  await expect.poll(() => usedBytes("attacker")).toBeGreaterThanOrEqual(stillUsedBytes);
  // They are measured again, and so is a pod that comes later.
  await addPod("late");
  for (const uid of ["one", "late"]) {
    writeFileSync(
      join(manager.mountedVolumes(podUid(uid)).get("disk")?.path ?? "", "more"),
      Buffer.alloc(fileBytes, 1),
    );
  }
  for (const uid of ["one", "late"]) {
    await expect.poll(() => usedBytes(uid)).toBeGreaterThanOrEqual(2 * fileBytes);
  }
  expect(mount.isServed).toBe(true);
  stop.abort();
  await running;
});
