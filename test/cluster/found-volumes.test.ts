import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Node, PersistentVolume } from "../../src/model/generated/kubernetes.ts";
import { CsiDriver } from "../integration/support/csi-driver.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import {
  attachmentsPath,
  claimsPath,
  createStorage,
  type StorageKind,
  storageObjects,
  storagePod,
  volumesPath,
} from "./support/storage-zoo.ts";

const nodePath = "/api/v1/nodes/node-a";

// A kubelet forgets what no folder of a pod shows: here Berth does more.
describe("volumes that another agent left", () => {
  let world: ClusterWorld;
  let driver: CsiDriver;

  beforeAll(async () => {
    world = await ClusterWorld.start("berth");
    driver = await CsiDriver.start({
      kubeletRoot: world.node.rootDir,
      kubeconfig: world.plane.kubeconfig,
    });
    await world.kubectl.apply(...storageObjects(driver));
  });

  afterAll(async () => {
    await driver.stop();
    await world.close();
    await driver[Symbol.asyncDispose]();
  });

  async function start(kind: StorageKind, name: string): Promise<string> {
    await createStorage(world, kind, name);
    await createPod(world.api, name, { spec: storagePod(kind, name, driver.name) });
    await untilPod(world.api, name, isReady, 120_000);
    const volumes = await world.api.list<PersistentVolume>(volumesPath);
    const volume = volumes.find(({ spec }) => spec?.claimRef?.name === name);
    return `kubernetes.io/csi/${driver.name}^${volume?.spec?.csi?.volumeHandle}`;
  }

  async function inUse(): Promise<readonly string[]> {
    return (await world.api.get<Node>(nodePath)).status?.volumesInUse ?? [];
  }

  async function untilInUse(isReached: (names: readonly string[]) => boolean): Promise<void> {
    await world.api.until<Node>("/api/v1/nodes", ([node]) =>
      isReached(node?.status?.volumesInUse ?? []),
    );
  }

  test.each<StorageKind>(["disk", "block"])(
    "a staged %s volume of a pod that is gone stays in use until it is unstaged",
    async (kind) => {
      const volume = await start(kind, kind);
      await driver.setRules([{ method: "NodeUnstageVolume", hang: true }]);
      const before = driver.calls("NodeUnstageVolume").length;
      await world.api.delete(`${podsPath}/${kind}`);
      await untilNoPods(world.api);
      await expect.poll(() => driver.calls("NodeUnstageVolume").length).toBeGreaterThan(before);
      await world.node.stop("SIGKILL");
      await driver.setRules([{ method: "NodeUnstageVolume", code: "Unavailable" }]);
      const failed = driver.calls("NodeUnstageVolume").length;
      await world.startNode("berth");
      await expect.poll(() => driver.calls("NodeUnstageVolume").length).toBeGreaterThan(failed);
      expect(await inUse()).toEqual([volume]);
      await driver.setRules([]);
      await untilInUse((names) => names.length === 0);
      await world.api.delete(`${claimsPath}/${kind}`);
      await world.api.until(attachmentsPath, (found) => found.length === 0, 120_000);
      await expect.poll(() => driver.leftovers()).toEqual([]);
      expect(await world.leftovers()).toEqual([]);
      const codes = driver.calls("ControllerUnpublishVolume").map(({ code }) => code);
      expect(codes).not.toContain("FailedPrecondition");
    },
  );

  test("what cannot be understood is left alone, named in the log, and stays in use until it is unmounted", async () => {
    const [kept, other] = [await start("disk", "kept"), await start("disk", "other")];
    await world.node.stop();
    const { uid } = (await untilPod(world.api, "kept", () => true)).metadata;
    const { rootDir } = world.node;
    const foreign = "example.com/disk^1";
    const places = [
      join(rootDir, "pods", uid, "volumes", "example.com~disk", "data"),
      join(rootDir, "plugins/kubernetes.io/csi/foreign.example.com/0123", "globalmount"),
    ];
    for (const place of places) {
      mkdirSync(place, { recursive: true });
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", place]);
      writeFileSync(join(place, "file"), "kept");
    }
    writeFileSync(join(places[1] ?? "", "../vol_data.json"), "{");
    await world.api.patch(`${nodePath}/status`, {
      status: { volumesInUse: [foreign, kept, other].toSorted() },
    });
    await world.startNode("berth");
    await world.api.delete(`${podsPath}/other`);
    await untilInUse((names) => !names.includes(other));
    expect(await inUse()).toEqual([foreign, kept].toSorted());
    expect(isReady(await untilPod(world.api, "kept", () => true))).toBe(true);
    const log = readFileSync(join(world.node.folder, "berth-4.log"), "utf8");
    for (const place of places) {
      expect(readFileSync(join(place, "file"), "utf8")).toBe("kept");
      expect(log).toContain(place);
    }
    await world.api.delete(`${podsPath}/kept`);
    await untilInUse((names) => !names.includes(kept));
    expect(await inUse()).toEqual([foreign]);
    for (const place of places) execFileSync("umount", [place]);
    // What is mounted is looked at again when something changes.
    await createPod(world.api, "next");
    await untilInUse((names) => names.length === 0);
  });
});
