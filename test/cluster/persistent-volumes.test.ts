import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PersistentVolumeClaim, PodSpec } from "../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import {
  claimed,
  claimSpec,
  claimsPath,
  StorageWorld,
  specWith,
  storageClass,
  storageTimeoutMs,
} from "./support/storage-world.ts";
import { statefulSet } from "./support/workloads.ts";

/** xfs grows while it is mounted without more rights than containers may have, and is never smaller. */
const growing = {
  storageClassName: "growing-disks",
  resources: { requests: { storage: "320Mi" } },
};

describe.concurrent("persistent volumes of a CSI driver", () => {
  let world: StorageWorld;

  beforeAll(async () => {
    world = await StorageWorld.start();
    await world.kubectl.apply(storageClass(growing.storageClassName, world.driver, "xfs"));
  });

  afterAll(() => world.close());

  test("the pods of a stateful set keep their volumes, and these their data", async () => {
    const { containers } = specWith({});
    const template = { metadata: { name: "data" }, spec: claimSpec() };
    await world.kubectl.apply(statefulSet("db", 2, { containers }, [template]));
    const pods = ["db-0", "db-1"];
    const untilReady = (): Promise<unknown> =>
      Promise.all(pods.map((pod) => world.untilReady(pod)));
    const read = (): Promise<readonly string[]> =>
      Promise.all(pods.map((pod) => world.readData(pod)));
    await untilReady();
    const written = await Promise.all(pods.map((pod) => world.writeData(pod)));

    const { metadata: before } = await world.untilReady("db-0");
    await world.api.delete(`${podsPath}/db-0`);
    const isNext = (pod: Parameters<typeof isReady>[0]): boolean =>
      pod.metadata.uid !== before.uid && isReady(pod);
    await untilPod(world.api, "db-0", isNext, storageTimeoutMs);
    expect(await read()).toEqual(written);

    await world.kubectl.run("scale", "statefulset", "db", "--replicas=0");
    await untilNoPods(world.api, "?labelSelector=app=db", storageTimeoutMs);
    await world.untilDetached("data-db-0", "data-db-1");
    await world.kubectl.run("scale", "statefulset", "db", "--replicas=2");
    await untilReady();
    expect(await read()).toEqual(written);
  });

  test("a raw device is written, read by the next pod, and grows under it", async () => {
    await world.createClaim("raw", { volumeMode: "Block" });
    const spec: Partial<PodSpec> = {
      containers: [
        shell("main", untilStopped, { volumeDevices: [{ name: "data", devicePath: "/dev/disk" }] }),
      ],
    };
    await world.startPodWith("raw-writer", claimed("raw"), spec);
    const written = await world.inside(
      "raw-writer",
      "dd if=/dev/urandom of=/tmp/blob bs=1M count=4 && dd if=/tmp/blob of=/dev/disk bs=1M conv=fsync && sha256sum < /tmp/blob",
    );
    await world.deletePod("raw-writer");
    await world.startPodWith("raw-reader", claimed("raw"), spec);
    const read = (): Promise<string> =>
      world.inside("raw-reader", "dd if=/dev/disk bs=1M count=4 | sha256sum");
    expect(await read()).toBe(written);

    await world.resizeClaim("raw", "64Mi");
    await world.untilClaim("raw", ({ status }) => status?.capacity?.["storage"] === "64Mi");
    const bytes = await world.inside("raw-reader", "blockdev --getsize64 /dev/disk");
    expect(Number(bytes)).toBe(64 * 2 ** 20);
    expect(await read()).toBe(written);
    await world.deletePod("raw-reader");
    await world.untilDetached("raw");
  });

  test("a volume that grows under its pod shows in the claim how far that is", async () => {
    await world.createClaim("online", growing);
    await world.startPodWith("online", claimed("online"));
    const { spec } = await world.untilClaim("online", () => true);
    const volumeId = await world.handleOf("online");
    const failure = { times: 1, code: "Internal", message: "busy" };
    await world.driver.setRules([{ method: "NodeExpandVolume", volumeId, ...failure }]);
    const changes = await grow("online", "400Mi");
    const pending = "FileSystemResizePending";
    expect(changes).toEqual([
      { capacity: "320Mi", conditions: [] },
      { capacity: "320Mi", node: "NodeResizePending", conditions: [pending] },
      { capacity: "320Mi", node: "NodeResizeInProgress", conditions: [pending] },
      {
        capacity: "320Mi",
        node: "NodeResizeInProgress",
        conditions: [
          pending,
          "failed to expand pvc with Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = busy",
        ],
      },
      { capacity: "400Mi", conditions: [] },
    ]);
    const name = spec?.volumeName;
    await world.untilEvent("online", "VolumeResizeFailed", (text) =>
      text.startsWith(`NodeExpandVolume.NodeExpandVolume failed for volume "${name}" `),
    );
    const succeeded = `MountVolume.NodeExpandVolume succeeded for volume "${name}" node-a`;
    await world.untilEvent("online", "FileSystemResizeSuccessful", (text) => text === succeeded);
    expect(await fileSystemBytes("online")).toBeGreaterThan(330 * 2 ** 20);
  });

  test("a volume that grew while no pod used it is grown for the next pod", async () => {
    await world.createClaim("offline", growing);
    await world.startPodWith("offline", claimed("offline"));
    const written = await world.writeData("offline");
    await world.deletePod("offline");
    await world.untilDetached("offline");
    await world.resizeClaim("offline", "400Mi");
    const waiting = await world.untilClaim("offline", ({ status }) =>
      (status?.conditions ?? []).some(({ type }) => type === "FileSystemResizePending"),
    );
    expect(waiting.status?.capacity).toEqual({ storage: "320Mi" });
    await world.startPodWith("offline-next", claimed("offline"));
    const done = await world.untilClaim(
      "offline",
      ({ status }) => status?.capacity?.["storage"] === "400Mi",
    );
    expect(done.status).toEqual({
      phase: "Bound",
      accessModes: ["ReadWriteOnce"],
      allocatedResources: { storage: "400Mi" },
      capacity: { storage: "400Mi" },
    });
    expect(await fileSystemBytes("offline-next")).toBeGreaterThan(330 * 2 ** 20);
    expect(await world.readData("offline-next")).toBe(written);
  });

  async function fileSystemBytes(pod: string): Promise<number> {
    const [blocks, size] = (await world.inside(pod, "stat -f -c '%b %S' /data")).split(" ");
    return Number(blocks) * Number(size);
  }

  /** How far the claim's volume was with growing, from one change to the next. */
  async function grow(claim: string, storage: string): Promise<readonly object[]> {
    const path = `${claimsPath}?fieldSelector=metadata.name=${claim}`;
    const signal = AbortSignal.timeout(storageTimeoutMs);
    const states = world.api.states<PersistentVolumeClaim>(path, signal);
    const seen: object[] = [];
    for await (const [found] of states) {
      if (seen.length === 0) await world.resizeClaim(claim, storage);
      const state = growthOf(found?.status ?? {});
      if (!isDeepStrictEqual(seen.at(-1), state)) seen.push(state);
      if (found?.status?.capacity?.["storage"] === storage) break;
    }
    return seen;
  }
});

function growthOf({
  capacity,
  allocatedResourceStatuses,
  conditions = [],
}: NonNullable<PersistentVolumeClaim["status"]>): object {
  return {
    capacity: capacity?.["storage"],
    node: allocatedResourceStatuses?.["storage"],
    conditions: conditions.map(({ type, message }) =>
      type === "NodeResizeError" ? message : type,
    ),
  };
}
