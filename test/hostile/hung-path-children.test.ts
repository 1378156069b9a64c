import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podUid } from "../../src/model/ids.ts";
import { HungMount } from "../integration/support/hung-mount.ts";
import { podWith, VolumeWorld } from "../integration/support/volume-world.ts";

let world: VolumeWorld;
let hung: HungMount;
/** The server of the mount is a child of the test too. */
let others: number;

beforeEach(async () => {
  world = await VolumeWorld.create();
  hung = await HungMount.at(join(world.folder, "hung"));
  others = childrenOfThisProcess().length;
});

afterEach(async () => {
  await hung[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

test("however many pods use a hung host path however often, one process hangs there", async () => {
  const pods = Array.from({ length: 3 }, (_, index) => {
    // Different paths on one mount.
    const path = join(world.folder, "hung", `folder-${index}`);
    const pod = podWith([{ name: "host", hostPath: { path, type: "Directory" } }]);
    return { ...pod, metadata: { ...pod.metadata, uid: podUid(`uid-${index}`) } };
  });
  for (const pod of pods) void world.mount(pod);
  const count = (text: RegExp): number => world.events.filter((event) => text.test(event)).length;
  for (const index of pods.keys()) {
    const failed = () => count(new RegExp(`file system of .*/folder-${index} does not answer`));
    await expect.poll(failed, { timeout: 120_000 }).toBeGreaterThan(1);
  }
  expect(childrenOfThisProcess().length - others).toBe(1);
  const again = () => count(/folder-0 does not answer \(since \d{4}-/);
  await expect.poll(again, { timeout: 120_000 }).toBeGreaterThan(0);

  // What hung has ended with its server: the path is read again.
  await hung[Symbol.asyncDispose]();
  await expect.poll(() => childrenOfThisProcess().length).toBeLessThan(others);
});

/** Also those that were killed and cannot end. */
function childrenOfThisProcess(): readonly string[] {
  return readdirSync("/proc").filter(
    (name) => /^\d+$/.test(name) && parentOf(name) === process.pid,
  );
}

function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}
