import { describe, expect, test } from "vitest";
import { driverName, StorageWorld, volumeNameOf } from "../../../test/kit/storage-world.ts";
import { err } from "../../lib/result.ts";
import { podUid } from "../../model/ids.ts";

const never = new AbortController().signal;

function failing(message: string, kind: "final" | "uncertain" = "final") {
  return () => Promise.resolve(err({ kind, message }));
}

describe("mounting", () => {
  test("waits for the report and the controller, then goes step by step without any time passing", async () => {
    const world = await StorageWorld.open();
    world.nodeUpdates = 0;
    const pod = world.add("uid-1", "a");
    const mounting = world.manager.mount(pod, never);
    await world.settle();
    expect(world.calls).toEqual([]);
    expect(world.manager.volumesInUse()).toEqual([volumeNameOf("a")]);
    expect(world.nodeUpdates).toBe(1);
    expect([...world.manager.awaited(pod.metadata.uid)]).toEqual([
      ["a", "the node's status does not report it as in use yet"],
    ]);
    expect(world.shownMessage(pod)).toBe(
      "Waiting for volume a: the node's status does not report it as in use yet",
    );
    world.attach();
    expect(await mounting).toEqual({ ok: true, value: undefined });
    expect(world.calls).toEqual(["waitForAttach a", "mountDevice a", "setUp a"]);
    expect([...world.manager.mountedVolumes(pod.metadata.uid).keys()]).toEqual(["a"]);
    expect(world.manager.awaited(pod.metadata.uid).size).toBe(0);
    expect(world.shownMessage(pod)).toBeUndefined();
    expect(world.clock.monotonicMs()).toBe(0);
  });

  test("mounts the device of a volume once for two pods", async () => {
    const world = await StorageWorld.open();
    const pods = [world.add("uid-1", "a"), world.add("uid-2", "a")];
    const mounting = pods.map((pod) => world.manager.mount(pod, never));
    await world.settle();
    world.attach();
    await Promise.all(mounting);
    expect(world.calls.filter((call) => call === "mountDevice a")).toHaveLength(1);
    expect(world.calls.filter((call) => call === "setUp a")).toHaveLength(2);
  });

  test("a driver that hangs delays only the pods that use it", async () => {
    const world = await StorageWorld.open();
    world.answers.set("setUp hung", () => new Promise(() => undefined));
    void world.manager.mount(world.add("uid-1", "hung"), never);
    const mounting = world.manager.mount(world.add("uid-2", "a"), never);
    await world.settle();
    world.attach();
    expect((await mounting).ok).toBe(true);
  });

  test("a claim that cannot be read holds up no other pod", async () => {
    const world = await StorageWorld.open();
    world.unread.add("hung");
    void world.manager.mount(world.add("uid-1", "hung"), never);
    await world.settle();
    const pod = world.add("uid-2", "a");
    const mounting = world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    await world.settle();
    expect(world.calls).toEqual(["waitForAttach a", "mountDevice a", "setUp a"]);
    expect((await mounting).ok).toBe(true);
    world.remove(pod);
    const unmounting = world.manager.unmount(pod.metadata.uid, never);
    await world.settle();
    expect(world.calls.slice(3)).toEqual(["tearDown a", "unmountDevice a"]);
    expect((await unmounting).ok).toBe(true);
    expect(world.clock.monotonicMs()).toBe(0);
  });

  test("tries again after a back-off, and reports each failure", async () => {
    const world = await StorageWorld.open();
    world.answers.set("setUp a", failing("disk busy"));
    const mounting = world.manager.mount(world.add("uid-1", "a"), never);
    await world.settle();
    world.attach();
    await world.clock.advance(3000);
    const tries = (): number => world.calls.filter((call) => call === "setUp a").length;
    expect(tries()).toBe(3);
    const failure = {
      type: "Warning",
      reason: "FailedMount",
      message: 'MountVolume.SetUp failed for volume "a" : disk busy',
    };
    expect(world.events).toEqual([failure, failure, failure]);
    expect([...world.manager.awaited(podUid("uid-1"))]).toEqual([
      ["a", 'MountVolume.SetUp failed for volume "a" : disk busy; it is tried again'],
    ]);
    world.answers.clear();
    await world.clock.run(mounting);
    expect(tries()).toBe(4);
  });
});

describe("after a failure", () => {
  test("the unmount for one pod and the mount for the next do not keep each other from pausing", async () => {
    const world = await StorageWorld.open();
    const first = world.add("uid-1", "a");
    const mounting = world.manager.mount(first, never);
    await world.settle();
    world.attach();
    await mounting;
    world.answers.set("tearDown a", failing("no driver"));
    world.answers.set("setUp a", failing("no driver"));
    world.calls.length = 0;
    const second = world.add("uid-2", "a");
    world.remove(first);
    const next = world.manager.mount(second, never);
    await world.clock.advance(5_000);
    expect(world.calls.filter((call) => call === "setUp a").length).toBeLessThanOrEqual(21);
    world.answers.clear();
    expect((await world.clock.run(next)).ok).toBe(true);
  });

  test.each([
    ["an object of the pod", (world: StorageWorld) => world.manager.retryPod(podUid("uid-1"))],
    ["the driver", (world: StorageWorld) => world.manager.retryDriver(driverName)],
  ])("the coming of %s ends the back-off", async (_, retry) => {
    const world = await StorageWorld.open();
    world.answers.set("setUp a", failing("not there yet"));
    const mounting = world.manager.mount(world.add("uid-1", "a"), never);
    await world.settle();
    world.attach();
    await world.clock.advance(60_000);
    world.answers.clear();
    retry(world);
    await mounting;
    expect(world.clock.monotonicMs()).toBe(60_000);
  });
});

describe("a wait for volumes", () => {
  test("ends with what is missing when its pod does not need it any more", async () => {
    const world = await StorageWorld.open();
    const pod = world.add("uid-1", "a");
    const cancel = new AbortController();
    const mounting = world.manager.mount(pod, cancel.signal);
    await world.settle();
    cancel.abort();
    expect(await mounting).toEqual({
      ok: false,
      error: {
        message:
          "unmounted volumes=[a], unattached volumes=[a], failed to process volumes=[]: context canceled",
        isAttachLimitExceeded: false,
        isLate: true,
      },
    });
  });

  test("ends by itself after two minutes", async () => {
    const world = await StorageWorld.open();
    const done = await world.clock.run(world.manager.mount(world.add("uid-1", "a"), never));
    expect(done.ok ? "" : done.error.message).toMatch(/: context deadline exceeded$/);
    expect(world.clock.monotonicMs()).toBe(123_000);
  });

  test("goes on, and sleeps, when the errors of claims are over before they are reported", async () => {
    const world = await StorageWorld.open();
    const pod = world.add("uid-1", "a");
    const mounting = world.manager.mount(pod, never);
    await world.clock.advance(100);
    world.missing.add("a");
    world.manager.retryPod(pod.metadata.uid);
    await world.clock.advance(100);
    world.missing.clear();
    world.manager.retryPod(pod.metadata.uid);
    await world.clock.advance(10_000);
    world.attach();
    expect((await mounting).ok).toBe(true);
  });

  test("ends with the errors of claims, and the next one reads them again", async () => {
    const world = await StorageWorld.open();
    world.missing.add("a");
    const pod = world.add("uid-1", "a");
    const first = await world.clock.run(world.manager.mount(pod, never));
    expect(first.ok ? "" : first.error.message).toBe(
      "unmounted volumes=[a], unattached volumes=[], failed to process volumes=[a]: " +
        "error processing PVC default/a: failed to fetch PVC from API server: a not found",
    );
    expect([...world.manager.awaited(pod.metadata.uid)]).toEqual([
      ["a", "error processing PVC default/a: failed to fetch PVC from API server: a not found"],
    ]);
    world.missing.clear();
    const second = world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    expect((await second).ok).toBe(true);
  });
});

describe("unmounting", () => {
  async function mounted(world: StorageWorld) {
    const pod = world.add("uid-1", "a");
    const mounting = world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    await mounting;
    world.calls.length = 0;
    return pod;
  }

  test("goes back step by step, and the volume is in use until its device is unmounted", async () => {
    const world = await StorageWorld.open();
    const pod = await mounted(world);
    world.answers.set("unmountDevice a", failing("busy"));
    world.remove(pod);
    expect(await world.manager.unmount(pod.metadata.uid, never)).toEqual({
      ok: true,
      value: undefined,
    });
    await world.settle();
    expect(world.calls).toEqual(["tearDown a", "unmountDevice a"]);
    expect(world.manager.volumesInUse()).toEqual([volumeNameOf("a")]);
    world.answers.clear();
    await world.clock.advance(1000);
    expect(world.calls).toEqual(["tearDown a", "unmountDevice a", "unmountDevice a"]);
    expect(world.manager.volumesInUse()).toEqual([]);
    expect(world.manager.hasMounts(pod.metadata.uid)).toBe(false);
  });

  test("a device that something else holds stays in use, and is unmounted again later", async () => {
    const world = await StorageWorld.open();
    const pod = await mounted(world);
    world.areDevicesHeld = true;
    world.remove(pod);
    await world.settle();
    expect(world.calls).toEqual(["tearDown a", "unmountDevice a"]);
    expect(world.manager.volumesInUse()).toEqual([volumeNameOf("a")]);
    world.areDevicesHeld = false;
    await world.clock.advance(1000);
    expect(world.calls).toEqual(["tearDown a", "unmountDevice a", "unmountDevice a"]);
    expect(world.manager.volumesInUse()).toEqual([]);
  });

  test("the next pod of the volume asks for a report though the volume is still listed", async () => {
    const world = await StorageWorld.open();
    const pod = await mounted(world);
    world.answers.set("unmountDevice a", failing("busy"));
    world.remove(pod);
    await world.settle();
    expect(world.calls).toEqual(["tearDown a", "unmountDevice a"]);
    expect(world.manager.isReportAwaited).toBe(false);
    world.nodeUpdates = 0;
    const mounting = world.manager.mount(world.add("uid-2", "a"), never);
    await world.settle();
    expect(world.nodeUpdates).toBe(1);
    expect(world.manager.isReportAwaited).toBe(true);
    world.attach();
    expect((await world.clock.run(mounting)).ok).toBe(true);
    expect(world.manager.isReportAwaited).toBe(false);
    expect(world.nodeUpdates).toBe(1);
  });

  test("that failed at its last step is done when all but the folder is gone", async () => {
    const world = await StorageWorld.open();
    const pod = await mounted(world);
    world.answers.set("tearDown a", failing("cannot remove the folder"));
    world.remove(pod);
    const unmounting = world.manager.unmount(pod.metadata.uid, never);
    await world.settle();
    world.takenDown.add("a");
    await world.clock.run(unmounting);
    await world.clock.advance(1000);
    expect(world.calls).toEqual(["tearDown a", "unmountDevice a"]);
  });

  test("a driver that hangs before a pod has anything of its volume keeps the pod's folder, not the pod", async () => {
    const world = await StorageWorld.open();
    world.answers.set("mountDevice a", () => new Promise(() => undefined));
    const pod = world.add("uid-1", "a");
    void world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    await world.settle();
    expect(world.calls).toEqual(["waitForAttach a", "mountDevice a"]);
    world.remove(pod);
    const { uid } = pod.metadata;
    expect(await world.manager.release(uid, never)).toEqual({ ok: true, value: undefined });
    expect(world.manager.hasMounts(uid)).toBe(true);
  });

  test("a pod that ended before it got its volume keeps no device, as long as it is known", async () => {
    const world = await StorageWorld.open();
    world.answers.set("setUp a", failing("no such device"));
    const pod = world.add("uid-1", "a");
    void world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    await world.settle();
    expect(world.calls).toEqual(["waitForAttach a", "mountDevice a", "setUp a"]);
    const { uid } = pod.metadata;
    world.ended.add(uid);
    expect((await world.manager.unmount(uid, never)).ok).toBe(true);
    await world.settle();
    expect(world.calls.slice(3)).toEqual(["unmountDevice a"]);
    expect(world.manager.volumesInUse()).toEqual([]);
  });

  test("does not begin before the pod's containers have ended", async () => {
    const world = await StorageWorld.open();
    const pod = await mounted(world);
    const waiting = world.manager.unmount(pod.metadata.uid, never);
    await world.clock.advance(10_000);
    expect(world.calls).toEqual([]);
    world.remove(pod);
    expect((await world.clock.run(waiting)).ok).toBe(true);
    expect(world.calls).toContain("tearDown a");
  });

  test("does not begin under a container that the worker did not know when it finished", async () => {
    const world = await StorageWorld.open();
    const pod = await mounted(world);
    world.observe(pod, "running");
    world.remove(pod);
    const waiting = world.manager.unmount(pod.metadata.uid, never);
    await world.clock.advance(10_000);
    expect(world.calls).toEqual([]);
    world.observe(pod, "exited");
    expect((await world.clock.run(waiting)).ok).toBe(true);
    expect(world.calls).toContain("tearDown a");
  });

  test("what a past agent mounted stays while the claims of a pod that came back are read", async () => {
    const world = await StorageWorld.open(["uid-1 a"]);
    world.answers.set("setUp a again", failing("no driver"));
    const { uid } = world.add("uid-1", "a").metadata;
    const end = new AbortController();
    void world.manager.mount(world.add("uid-1", "a"), end.signal);
    await world.settle();
    world.ended.add(uid);
    end.abort();
    await world.manager.resolve(never);
    world.ended.delete(uid);
    world.unread.add("a");
    void world.manager.mount(world.add("uid-1", "a"), never);
    await world.settle();
    expect(world.calls).not.toContain("tearDown a");
  });

  test("a pod that is gone while its volume is being mounted keeps its folder until that is undone", async () => {
    const world = await StorageWorld.open();
    let finish: (() => void) | undefined;
    const hanging = new Promise<void>((resolve) => {
      finish = resolve;
    });
    world.answers.set("setUp a", async () => {
      await hanging;
      return err({ kind: "uncertain", message: "too late" });
    });
    const pod = world.add("uid-1", "a");
    void world.manager.mount(pod, never);
    await world.settle();
    world.attach();
    await world.settle();
    world.remove(pod);
    await world.settle();
    expect(world.manager.hasMounts(pod.metadata.uid)).toBe(true);
    expect(world.calls).not.toContain("tearDown a");
    finish?.();
    await world.clock.advance(1000);
    expect(world.calls.slice(-2)).toEqual(["tearDown a", "unmountDevice a"]);
    expect(world.manager.hasMounts(pod.metadata.uid)).toBe(false);
  });
});

describe("a volume that has become larger", () => {
  const grown = { volume: "2Gi", claim: "1Gi" };

  async function mounted(...readers: readonly string[]): Promise<StorageWorld> {
    const world = await StorageWorld.open();
    const uids = [...readers, "uid-writer"];
    for (const uid of readers) world.readers.add(uid);
    const pods = uids.map((uid) => world.add(uid, "a"));
    const mounting = pods.map((pod) => world.manager.mount(pod, never));
    await world.settle();
    world.attach();
    await Promise.all(mounting);
    return world;
  }

  test("is expanded soon after the controller has done its part, and looked at as often as by a kubelet until then", async () => {
    const world = await mounted();
    world.sizes.set("a", { ...grown, resizeStatus: "ControllerResizeInProgress" });
    world.manager.retryPods();
    await world.settle();
    world.claimReads = 0;
    await world.clock.advance(1_000);
    expect(world.calls).not.toContain("expand a");
    expect(world.claimReads).toBeGreaterThanOrEqual(5);
    expect(world.claimReads).toBeLessThanOrEqual(10);
    world.sizes.set("a", { ...grown, resizeStatus: "NodeResizePending" });
    await world.clock.advance(200);
    expect(world.calls.filter((call) => call === "expand a")).toHaveLength(1);
  });

  test("is expanded for the pod that writes, though others only read it", async () => {
    const world = await mounted("uid-reader");
    world.sizes.set("a", { ...grown, resizeStatus: "NodeResizePending" });
    world.manager.retryPods();
    await world.clock.advance(500);
    expect(world.calls).toContain("expand a");
  });
});
