import { describe, expect, test } from "vitest";
import { StorageWorld, volumeNameOf } from "../../../test/kit/storage-world.ts";
import { err } from "../../lib/result.ts";

const never = new AbortController().signal;

describe("a volume that is mounted with an SELinux context", () => {
  const seLinux = {
    processContext: "system_u:system_r:container_t:s0",
    fileContext: "system_u:object_r:container_file_t:s0",
    mountsAllModes: true,
  };
  const context = "system_u:object_r:container_file_t:s0:c1,c2";
  const other = "system_u:object_r:container_file_t:s0:c3,c4";

  test("waits while another pod has it with another one, and is then mounted again", async () => {
    const world = await StorageWorld.open([], { seLinux });
    const first = world.addLabelled("uid-1", "s0:c1,c2", "a");
    const mounting = world.manager.mount(first, never);
    await world.settle();
    world.attach();
    await mounting;
    const second = world.addLabelled("uid-2", "s0:c3,c4", "a");
    const refused = await world.clock.run(world.manager.mount(second, never));
    expect(refused).toMatchObject({
      error: {
        message: `unmounted volumes=[a], unattached volumes=[], failed to process volumes=[a]: conflicting SELinux labels of volume a: "${context}" and "${other}"`,
      },
    });
    world.answers.set("tearDown a", async () => err({ kind: "final", message: "busy" }));
    world.remove(first);
    void world.manager.unmount(first.metadata.uid, never);
    const late = await world.clock.run(world.manager.mount(second, never));
    expect(late).toMatchObject({
      error: {
        message: expect.stringContaining(
          `waiting for unmount of volume "${volumeNameOf("a")}", because it is already mounted to a different pod with a different SELinux label`,
        ),
      },
    });
    world.answers.clear();
    await world.clock.advance(10_000);
    world.attach();
    // What was noted while it waited is reported again.
    await world.clock.run(world.manager.mount(second, never));
    const again = await world.clock.run(world.manager.mount(second, never));
    expect(again).toMatchObject({ ok: true });
    const calls = world.calls.filter((call, index, all) => call !== all[index - 1]);
    expect(calls).toEqual([
      "waitForAttach a",
      `mountDevice a ${context}`,
      "setUp a",
      "tearDown a",
      "unmountDevice a",
      "waitForAttach a",
      `mountDevice a ${other}`,
      "setUp a",
    ]);
  });

  test("is shared by pods with the same one", async () => {
    const world = await StorageWorld.open([], { seLinux });
    const pods = ["uid-1", "uid-2"].map((uid) => world.addLabelled(uid, "s0:c1,c2", "a"));
    const mounting = pods.map((pod) => world.manager.mount(pod, never));
    await world.settle();
    world.attach();
    expect(await Promise.all(mounting)).toMatchObject([{ ok: true }, { ok: true }]);
  });

  test("and was staged with another one before this agent's time is staged again", async () => {
    const world = await StorageWorld.open([], { seLinux, staged: ["a"], stagedLabel: other });
    const mounting = world.manager.mount(world.addLabelled("uid-1", "s0:c1,c2", "a"), never);
    await world.settle();
    world.attach();
    expect(await world.clock.run(mounting)).toMatchObject({ ok: true });
    expect(world.calls).toEqual([
      "unmountDevice a",
      "waitForAttach a",
      `mountDevice a ${context}`,
      "setUp a",
    ]);
  });

  test("and that containers use since before this agent's time stays as it is", async () => {
    const world = await StorageWorld.open(["uid-1 a"], { seLinux, stagedLabel: "" });
    const pod = world.addLabelled("uid-1", "s0:c1,c2", "a");
    world.observe(pod, "running");
    const mounting = world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    expect(await world.clock.run(mounting)).toMatchObject({ ok: true });
    expect(world.calls).toEqual(["waitForAttach a", "mountDevice a", "setUp a again"]);
  });
});
