import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Volume } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { CsiDriver } from "../integration/support/csi-driver.ts";
import { podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import {
  claimed,
  claimSpec,
  StorageWorld,
  storageClass,
  storageTimeoutMs,
} from "./support/storage-world.ts";

describe.concurrent("pods that wait for volumes", () => {
  let world: StorageWorld;
  let slow: CsiDriver;

  beforeAll(async () => {
    world = await StorageWorld.start();
    slow = await world.addDriver();
    await world.kubectl.apply(storageClass("slow-disks", slow));
  });

  afterAll(async () => {
    await slow.stop();
    await world.close();
    await slow[Symbol.asyncDispose]();
  });

  test("a driver that hangs delays only pods that use it, and not the end of one that never had its volume", async () => {
    const { api } = world;
    for (const name of ["held", "hung"]) {
      await world.createClaim(name, { storageClassName: "slow-disks" });
    }
    await world.startPodWith("held", claimed("held"));
    await slow.setRules([
      { method: "NodeStageVolume", hang: true },
      { method: "NodeUnpublishVolume", hang: true },
    ]);
    await world.createPodWith("hung", claimed("hung"));
    await api.delete(`${podsPath}/held`);
    const isHanging = (method: string): boolean =>
      slow.calls(method).some(({ code }) => code === undefined);
    await expect.poll(() => isHanging("NodeStageVolume")).toBe(true);
    await expect.poll(() => isHanging("NodeUnpublishVolume")).toBe(true);

    await world.createClaim("beside");
    await world.startPodWith("beside", claimed("beside"));
    await world.writeData("beside");
    await world.deletePod("beside");
    const { status } = await untilPod(api, "hung", () => true);
    expect(status?.phase).toBe("Pending");
    expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ContainerCreating");
    // What a container may still use is not given up.
    await untilPod(api, "held", ({ metadata }) => metadata.deletionTimestamp !== undefined);

    await world.deletePod("hung");
    expect(isHanging("NodeStageVolume") || isHanging("NodeUnpublishVolume")).toBe(true);
    await slow.setRules([]);
    await untilNoPods(api, "?fieldSelector=metadata.name=held", storageTimeoutMs);
    await world.untilDetached("held", "hung");
    expect(slow.leftovers()).toEqual([]);
  });

  test("a pod whose claim cannot be used stays pending, and its events say why", async () => {
    const { api, driver } = world;
    await world.createClaim("unbound", { storageClassName: "no-such-class" });
    await createBound("raw-claim", "Block");
    await createBound("foreign-data", "Filesystem");
    const sources: Readonly<Record<string, Omit<Volume, "name">>> = {
      absent: claimed("absent-claim"),
      unbound: claimed("unbound"),
      mismatch: claimed("raw-claim"),
      foreign: { ephemeral: { volumeClaimTemplate: { spec: claimSpec() } } },
    };
    for (const [name, source] of Object.entries(sources)) await createBoundPod(name, source);
    const reasons = {
      absent:
        'error processing PVC default/absent-claim: failed to fetch PVC from API server: persistentvolumeclaims "absent-claim" not found',
      unbound: "error processing PVC default/unbound: PVC is not bound",
      mismatch: "volume data has volumeMode Block, but is specified in volumeMounts",
      foreign:
        "PVC default/foreign-data was not created for pod default/foreign (pod is not owner)",
    };
    for (const [name, reason] of Object.entries(reasons)) {
      const text = `Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ${reason}`;
      await world.untilEvent(name, "FailedMount", (message) => message === text);
      const { status } = await untilPod(api, name, () => true);
      expect(status?.phase).toBe("Pending");
    }

    await driver.createVolume("absent-claim", 32 * 2 ** 20);
    await createBound("absent-claim", "Filesystem");
    await world.untilReady("absent");
    await world.writeData("absent");
    for (const name of Object.keys(sources)) await world.deletePod(name);
  });

  /** A pod that is on the node without a scheduler, which would keep it from there. */
  async function createBoundPod(name: string, source: Omit<Volume, "name">): Promise<Pod> {
    const nodeName = world.cluster.node.name;
    return world.createPodWith(name, source, { nodeName, automountServiceAccountToken: false });
  }

  /** A claim and the persistent volume that was made for it. */
  async function createBound(name: string, volumeMode: string): Promise<void> {
    const spec = {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "",
      volumeMode,
      capacity: { storage: "32Mi" },
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace: "default", name },
      csi: { driver: world.driver.name, volumeHandle: name },
    };
    await world.kubectl.apply({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec,
    });
    await world.createClaim(name, { storageClassName: "", volumeName: name, volumeMode });
    await world.untilClaim(name, ({ status }) => status?.phase === "Bound");
  }
});
