import { afterAll, beforeAll, expect, test } from "vitest";
import type {
  CSINode,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttachment,
} from "../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { CsiDriver } from "../integration/support/csi-driver.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";

const claimsPath = "/api/v1/namespaces/default/persistentvolumeclaims";
const volumesPath = "/api/v1/persistentvolumes";
const attachmentsPath = "/apis/storage.k8s.io/v1/volumeattachments";

let world: ClusterWorld;
let driver: CsiDriver;

beforeAll(async () => {
  world = await ClusterWorld.start(testedAgent, { config: { syncFrequency: "5s" } });
  driver = await CsiDriver.start({
    kubeletRoot: world.node.rootDir,
    kubeconfig: world.plane.kubeconfig,
    nodeId: "disk-host-1",
    flags: ["--attach-limit=9"],
  });
  await world.kubectl.apply(
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: driver.name },
      spec: { attachRequired: true, podInfoOnMount: true },
    },
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "disks" },
      provisioner: driver.name,
      parameters: { "csi.storage.k8s.io/fstype": "xfs" },
      allowVolumeExpansion: true,
      volumeBindingMode: "WaitForFirstConsumer",
    },
  );
});

afterAll(async () => {
  // Its socket is in the node's folder, which may be a mount.
  await driver.stop();
  await world.close();
  await driver[Symbol.asyncDispose]();
});

test("the driver is in the node's CSINode object", async () => {
  const [node] = await world.api.until<CSINode>("/apis/storage.k8s.io/v1/csinodes", ([found]) =>
    (found?.spec.drivers ?? []).some(({ name }) => name === driver.name),
  );
  expect(node?.spec.drivers).toMatchObject([
    { name: driver.name, nodeID: "disk-host-1", allocatable: { count: 9 } },
  ]);
  expect(driver.calls("NotifyRegistrationStatus").map((call) => call.request)).toEqual([
    { pluginRegistered: true },
  ]);
});

test("a driver that dies and comes back is registered again", async () => {
  const before = driver.calls("NotifyRegistrationStatus").length;
  await driver.kill();
  await driver.start();
  await expect.poll(() => driver.calls("NotifyRegistrationStatus").length).toBeGreaterThan(before);
});

test("a claim gets a volume that is attached, mounted, grown under the pod, kept for the next and deleted", async () => {
  const claim = {
    metadata: { name: "data" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "disks",
      resources: { requests: { storage: "320Mi" } },
    },
  };
  await world.api.create(claimsPath, claim);
  const start = async (name: string): Promise<void> => {
    await createPod(world.api, name, {
      spec: {
        containers: [
          shell("main", untilStopped, { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
        ],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      },
    });
    await untilPod(world.api, name, isReady, 120_000);
  };
  const inside = (pod: string, script: string): Promise<string> =>
    world.kubectl.run("exec", pod, "--", "sh", "-c", script);
  await start("writer");
  await inside("writer", "echo kept > /data/file && sync");
  const [volume] = await world.api.list<PersistentVolume>(volumesPath);
  const handle = volume?.spec?.csi?.volumeHandle;
  const attachments = await world.api.list<VolumeAttachment>(attachmentsPath);
  expect(attachments).toMatchObject([{ status: { attached: true } }]);
  expect(attachments[0]?.status?.attachmentMetadata).toMatchObject({ device: handle });

  await world.api.patch(`${claimsPath}/data`, {
    spec: { resources: { requests: { storage: "640Mi" } } },
  });
  await world.api.until<PersistentVolumeClaim>(
    claimsPath,
    ([found]) => found?.status?.capacity?.["storage"] === "640Mi",
    120_000,
  );
  const [blocks, blockBytes] = (await inside("writer", "stat -f -c '%b %S' /data")).split(" ");
  expect(Number(blocks) * Number(blockBytes)).toBeGreaterThan(400 * 2 ** 20);

  await world.api.delete(`${podsPath}/writer`);
  await untilNoPods(world.api);
  await start("reader");
  expect(await inside("reader", "cat /data/file")).toBe("kept\n");

  await world.api.delete(`${podsPath}/reader`);
  await untilNoPods(world.api);
  await world.api.delete(`${claimsPath}/data`);
  await world.api.until(volumesPath, (volumes) => volumes.length === 0, 120_000);
  await world.api.until(attachmentsPath, (found) => found.length === 0, 120_000);
  await expect.poll(() => driver.leftovers()).toEqual([]);
  const codes = driver.calls("ControllerUnpublishVolume").map(({ code }) => code);
  expect(codes.at(-1)).toBe("OK");
  // No disk was taken away under its file system.
  expect(codes).not.toContain("FailedPrecondition");
  expect(driver.calls("DeleteVolume").map(({ code }) => code)).toContain("OK");
});
