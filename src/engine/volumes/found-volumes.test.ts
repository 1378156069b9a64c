import { describe, expect, test } from "vitest";
import { StorageWorld, volumeNameOf } from "../../../test/kit/storage-world.ts";
import { SimMounts } from "../../drivers/sim/sim-mounts.ts";
import { err } from "../../lib/result.ts";
import { podUid } from "../../model/ids.ts";

const never = new AbortController().signal;

function failing(message: string) {
  return () => Promise.resolve(err({ kind: "final" as const, message }));
}

describe("what a past agent mounted", () => {
  test("is not unmounted before all sources have delivered", async () => {
    const world = await StorageWorld.open(["uid-9 old"], { areSourcesReady: false });
    void world.manager.remove(podUid("uid-9"), never);
    await world.clock.advance(60_000);
    expect(world.calls).toEqual([]);
    world.areSourcesReady = true;
    world.manager.requestLook();
    await world.settle();
    expect(world.calls).toEqual(["tearDown old", "unmountDevice old"]);
    expect(world.manager.hasMounts(podUid("uid-9"))).toBe(false);
  });

  test("is unmounted once all sources have delivered, though no pod has volumes", async () => {
    const world = await StorageWorld.open(["uid-9 old"], { areSourcesReady: false });
    const removing = world.manager.remove(podUid("uid-9"), never);
    await world.clock.advance(10_000);
    expect(world.calls).toEqual([]);
    world.areSourcesReady = true;
    await world.clock.run(removing);
    expect(world.calls).toContain("tearDown old");
  });

  test("and took down all but its folder is nothing to take down again", async () => {
    const world = await StorageWorld.open(["uid-9 old"], { takenDown: new Set(["old"]) });
    expect(world.manager.hasMounts(podUid("uid-9"))).toBe(false);
    expect((await world.manager.remove(podUid("uid-9"), never)).ok).toBe(true);
    expect(world.calls).toEqual([]);
  });

  test("is not unmounted, nor reported away, before the node's status was read", async () => {
    const world = await StorageWorld.open(["uid-9 old"], { attached: undefined });
    void world.manager.remove(podUid("uid-9"), never);
    await world.clock.advance(60_000);
    expect(world.calls).toEqual([]);
    expect(world.manager.volumesInUse()).toBeUndefined();
    world.attached = new Map([[volumeNameOf("old"), "/dev/x"]]);
    world.answers.set("unmountDevice old", failing("busy"));
    world.manager.requestLook();
    await world.settle();
    expect(world.calls).toEqual(["tearDown old", "unmountDevice old"]);
    expect(world.manager.volumesInUse()).toEqual([volumeNameOf("old")]);
  });

  test("is set up again for the pod that still wants it, and not unmounted in between", async () => {
    const world = await StorageWorld.open(["uid-1 a"], { areSourcesReady: false });
    const pod = world.add("uid-1", "a");
    world.areSourcesReady = true;
    expect((await world.manager.mount(pod, never)).ok).toBe(true);
    expect(world.calls).toEqual(["waitForAttach a", "mountDevice a", "setUp a again"]);
  });

  test("for a pod that is refused now goes, and leaves no device", async () => {
    const world = await StorageWorld.open(["uid-1 a"], { staged: ["b"], areSourcesReady: false });
    world.answers.set("unmountDevice b", failing("no driver yet"));
    const { uid } = world.add("uid-1", "a", "b").metadata;
    world.areSourcesReady = true;
    world.manager.requestLook();
    await world.settle();
    expect(world.manager.volumesInUse()).toEqual([volumeNameOf("a"), volumeNameOf("b")]);
    expect(world.calls).toEqual(["unmountDevice b"]);
    world.answers.clear();
    world.ended.add(uid);
    world.manager.requestLook();
    await world.clock.advance(1_000);
    expect(world.calls.slice(1).toSorted()).toEqual([
      "tearDown a",
      "unmountDevice a",
      "unmountDevice b",
    ]);
    expect(world.manager.volumesInUse()).toEqual([]);
    expect((await world.manager.remove(uid, never)).ok).toBe(true);
  });

  test("and cannot be understood is removed once, unless a pod wants it", async () => {
    const world = await StorageWorld.open(["uid-1 unreadable-1", "uid-2 unreadable-2"], {
      areSourcesReady: false,
    });
    const wanting = world.add("uid-1", "unreadable-1");
    const removing = world.manager.remove(podUid("uid-2"), never);
    await world.settle();
    expect(world.calls).toEqual([]);
    world.answers.set("tearDown unreadable-2", failing("no record of it"));
    world.areSourcesReady = true;
    world.manager.requestLook();
    expect((await removing).ok).toBe(true);
    expect(world.calls).toEqual(["tearDown unreadable-2"]);
    const mounting = world.manager.mount(wanting, never);
    await world.settle();
    world.attach();
    expect((await mounting).ok).toBe(true);
    await world.clock.advance(60_000);
    expect(world.calls.filter((call) => call.startsWith("tearDown"))).toHaveLength(1);
  });

  test("is found although another pod's folder cannot be read", async () => {
    const world = await StorageWorld.open(["uid-8 unlisted", "uid-9 old"]);
    expect((await world.manager.remove(podUid("uid-9"), never)).ok).toBe(true);
    await world.settle();
    expect(world.calls).toEqual(["tearDown old", "unmountDevice old"]);
  });

  test("and no pod has any more is unmounted, and in use until then", async () => {
    const attached = new Map([[volumeNameOf("old"), "/dev/x"]]);
    const answers = new Map([["unmountDevice old", failing("busy")]]);
    const world = await StorageWorld.open([], { staged: ["old"], attached, answers });
    expect(world.calls).toEqual(["unmountDevice old"]);
    expect(world.manager.volumesInUse()).toEqual([volumeNameOf("old")]);
    world.answers.clear();
    await world.clock.advance(1_000);
    expect(world.manager.volumesInUse()).toEqual([]);
  });

  test("and cannot be understood keeps in use what was reported, until it is unmounted", async () => {
    const inherited = ["example.com/disk^1", volumeNameOf("a"), volumeNameOf("old")];
    const mounts = new SimMounts();
    await mounts.mountTmpfs("/data/plugins/unreadable");
    const world = await StorageWorld.open(["uid-9 old"], {
      staged: ["unreadable"],
      attached: undefined,
      inherited,
      mounts,
    });
    expect(world.manager.volumesInUse()).toBeUndefined();
    world.attached = new Map([[volumeNameOf("old"), "/dev/x"]]);
    world.manager.requestLook();
    await world.settle();
    expect(world.manager.volumesInUse()).toEqual(inherited);
    // What this agent knows goes as always.
    expect((await world.manager.remove(podUid("uid-9"), never)).ok).toBe(true);
    const pod = world.add("uid-1", "a");
    const mounting = world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    expect((await mounting).ok).toBe(true);
    world.remove(pod);
    expect((await world.manager.remove(pod.metadata.uid, never)).ok).toBe(true);
    await world.settle();
    expect(world.manager.volumesInUse()).toEqual(["example.com/disk^1"]);
    await mounts.unmount("/data/plugins/unreadable");
    world.manager.requestLook();
    await world.settle();
    expect(world.manager.volumesInUse()).toEqual([]);
    expect(world.calls).not.toContain("unmountDevice unreadable");
  });
});
