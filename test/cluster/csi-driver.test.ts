import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  CSINode,
  Node,
  PersistentVolume,
  TokenReview,
  VolumeAttachment,
} from "../../src/model/generated/kubernetes.ts";
import type { CsiCall } from "../integration/support/csi-driver.ts";
import { untilNoPods } from "./support/cluster-pods.ts";
import {
  attachmentsPath,
  claimed,
  claimSpec,
  claimsPath,
  StorageWorld,
  storageTimeoutMs,
  volumesPath,
} from "./support/storage-world.ts";

const nodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";

let world: StorageWorld;

beforeAll(async () => {
  world = await StorageWorld.start({
    flags: ["--attach-limit=9", "--topology"],
    csiDriver: {
      podInfoOnMount: true,
      volumeLifecycleModes: ["Persistent", "Ephemeral"],
      tokenRequests: [{ audience: "vault" }],
      requiresRepublish: true,
      fsGroupPolicy: "File",
    },
  });
});

afterAll(() => world.close());

test("the driver is in the node's objects", async () => {
  const { driver, api } = world;
  const topologyKey = `${driver.name}/node`;
  const [found] = await api.until<CSINode>("/apis/storage.k8s.io/v1/csinodes", ([node]) =>
    (node?.spec.drivers ?? []).some(({ name }) => name === driver.name),
  );
  expect(found?.spec.drivers).toEqual([
    {
      name: driver.name,
      nodeID: "disk-host-1",
      topologyKeys: [topologyKey],
      allocatable: { count: 9 },
    },
  ]);
  const [node] = await api.list<Node>("/api/v1/nodes");
  expect(JSON.parse(node?.metadata?.annotations?.[nodeIdAnnotation] ?? "")).toEqual({
    [driver.name]: "disk-host-1",
  });
  expect(node?.metadata?.labels).toMatchObject({ [topologyKey]: "disk-host-1" });
  expect(driver.calls("NotifyRegistrationStatus").map((call) => call.request)).toEqual([
    { pluginRegistered: true },
  ]);
});

test("a driver that dies and comes back is registered again", async () => {
  const { driver } = world;
  const before = driver.calls("NotifyRegistrationStatus").length;
  await driver.kill();
  await driver.start();
  await expect.poll(() => driver.calls("NotifyRegistrationStatus").length).toBeGreaterThan(before);
});

describe.concurrent("what the driver is asked for", () => {
  test("a claimed volume is attached and mounted, and detached and deleted with its claim", async () => {
    const { api, driver } = world;
    await world.createClaim("whole");
    await world.startPodWith("whole", claimed("whole"));
    const handle = await world.handleOf("whole");
    const [volume] = await volumesOf("whole");
    const isOf = ({ spec }: VolumeAttachment): boolean =>
      spec.source.persistentVolumeName === volume?.metadata?.name;
    const attachment = (await api.list<VolumeAttachment>(attachmentsPath)).find(isOf);
    expect(attachment?.status).toMatchObject({
      attached: true,
      attachmentMetadata: { device: handle },
    });

    await world.deletePod("whole");
    await api.delete(`${claimsPath}/whole`);
    await untilNoVolume("whole");
    await world.untilDetached("whole");
    const codes = callsFor("ControllerUnpublishVolume", handle).map(({ code }) => code);
    expect(codes.at(-1)).toBe("OK");
    // No disk was taken away under its file system.
    expect(codes).not.toContain("FailedPrecondition");
    expect(callsFor("DeleteVolume", handle).map(({ code }) => code)).toContain("OK");
    expect(driver.leftovers().filter((line) => line.includes(handle))).toEqual([]);
  });

  test("an inline volume comes with pod, token and secret, again and again", async () => {
    const { api, driver } = world;
    await world.kubectl.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "keys" },
      stringData: { key: "inline-secret-1" },
    });
    const pod = await world.startPodWith("inline", {
      csi: {
        driver: driver.name,
        volumeAttributes: { colour: "red" },
        nodePublishSecretRef: { name: "keys" },
      },
    });
    const { uid } = pod.metadata;
    const context = JSON.parse(await world.inside("inline", "cat /data/volume-context.json"));
    const prefix = "csi.storage.k8s.io";
    expect(context).toMatchObject({
      colour: "red",
      [`${prefix}/ephemeral`]: "true",
      [`${prefix}/pod.name`]: "inline",
      [`${prefix}/pod.namespace`]: "default",
      [`${prefix}/pod.uid`]: uid,
      [`${prefix}/serviceAccount.name`]: "default",
    });
    const { vault } = JSON.parse(context[`${prefix}/serviceAccount.tokens`]);
    const review = await api.create<TokenReview>("/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: vault.token, audiences: ["vault"] },
    });
    expect(review.status).toMatchObject({
      authenticated: true,
      user: { username: "system:serviceaccount:default:default" },
    });

    const publishes = (): readonly CsiCall[] =>
      driver.calls("NodePublishVolume").filter(({ request }) => request.targetPath?.includes(uid));
    expect(publishes()[0]?.request.secrets).toEqual({ key: "inline-secret-1" });
    expect(publishes()[0]?.request.stagingTargetPath).toBeUndefined();
    await expect.poll(() => publishes().length).toBeGreaterThan(2);
    await world.deletePod("inline");
    expect(world.mountPoints().filter((path) => path.includes(uid))).toEqual([]);
  });

  test("a volume of an ephemeral claim comes and goes with its pod", async () => {
    const volumeClaimTemplate = { spec: claimSpec() };
    await world.startPodWith("generic", { ephemeral: { volumeClaimTemplate } });
    await world.writeData("generic");
    const handle = await world.handleOf("generic-data");
    await world.deletePod("generic");
    await untilNoVolume("generic-data");
    expect(callsFor("DeleteVolume", handle).map(({ code }) => code)).toContain("OK");
  });

  test("a volume belongs to the pod's group, and cannot be written where it is read-only", async () => {
    await world.createClaim("group");
    await world.startPodWith("group", claimed("group"), {
      securityContext: { runAsUser: 1_234, runAsGroup: 1_234, fsGroup: 4_321 },
    });
    expect(await world.inside("group", "id -G; stat -c '%g %a' /data")).toBe(
      "1234 4321\n4321 2775\n",
    );
    const written = await world.writeData("group");
    await world.deletePod("group");

    await world.startPodWith("reader", {
      persistentVolumeClaim: { claimName: "group", readOnly: true },
    });
    expect(await world.readData("reader")).toBe(written);
    expect(await world.inside("reader", "touch /data/more 2>&1 || true")).toContain("Read-only");
    const last = callsFor("NodePublishVolume", await world.handleOf("group")).at(-1);
    expect(last?.request).toMatchObject({ readonly: true });
    await world.deletePod("reader");
  });

  function callsFor(method: string, volumeId: string): readonly CsiCall[] {
    return world.driver.calls(method).filter(({ request }) => request.volumeId === volumeId);
  }

  async function volumesOf(claim: string): Promise<readonly PersistentVolume[]> {
    const volumes = await world.api.list<PersistentVolume>(volumesPath);
    return volumes.filter(({ spec }) => spec?.claimRef?.name === claim);
  }

  async function untilNoVolume(claim: string): Promise<void> {
    await world.api.until<PersistentVolume>(
      volumesPath,
      (items) => !items.some(({ spec }) => spec?.claimRef?.name === claim),
      storageTimeoutMs,
    );
  }
});

test("a driver that is removed is taken from the node's objects, and leaves nothing", async () => {
  const { api, driver } = world;
  await untilNoPods(api);
  await api.until(attachmentsPath, (found) => found.length === 0, storageTimeoutMs);
  await expect.poll(() => driver.leftovers()).toEqual([]);
  await driver.stop();
  await api.until<CSINode>("/apis/storage.k8s.io/v1/csinodes", ([node]) =>
    (node?.spec.drivers ?? []).every(({ name }) => name !== driver.name),
  );
  await api.until<Node>(
    "/api/v1/nodes",
    ([node]) => node?.metadata?.annotations?.[nodeIdAnnotation] === undefined,
  );
});
