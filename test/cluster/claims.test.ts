import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openClusterConnection } from "../../src/app/cluster-connection.ts";
import { parseCommandLine } from "../../src/config/flags/command-line.ts";
import { csiAttachmentName } from "../../src/core/storage/csi/csi-paths.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import { ApiClaims } from "../../src/engine/cluster/api-claims.ts";
import { ApiCsiObjects, csiDriverReflector } from "../../src/engine/cluster/api-csi-objects.ts";
import { EventSender } from "../../src/engine/cluster/event-sender.ts";
import type {
  CSIDriver,
  Event,
  PersistentVolumeClaim,
} from "../../src/model/generated/kubernetes.ts";
import type { ApiClient } from "../../src/ports/api-client.ts";
import { noMetrics } from "../kit/no-metrics.ts";
import { silentLog } from "../kit/silent-log.ts";
import { testHistory } from "../kit/test-history.ts";
import { ControlPlane } from "./support/control-plane.ts";

const node = "node-a";
const driver = "csi.example.com";
const claimsPath = "/api/v1/namespaces/default/persistentvolumeclaims";

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Berth's own readers of storage objects, with the credentials of a node, and without the rest of the agent. */
describe("what a node may read and write of storage", () => {
  let plane: ControlPlane;
  let api: ApiClient;
  let claims: ApiClaims;
  let csiObjects: ApiCsiObjects;
  let changedDrivers: readonly string[] = [];
  const stop = new AbortController();
  const { signal } = stop;
  const running: Promise<void>[] = [];

  beforeAll(async () => {
    plane = await ControlPlane.start();
    api = await connect();
    const deps = { api, clock: systemClock, random: Math.random, log: silentLog };
    const csiDrivers = csiDriverReflector({
      ...deps,
      wakeups: { noteCsiDrivers: (names) => (changedDrivers = names) },
    });
    const events = new EventSender({
      ...deps,
      nodeName: node,
      uniqueName: randomUUID,
      perSecond: 50,
      burst: 100,
      history: testHistory(),
    });
    running.push(csiDrivers.run(signal), events.run(signal));
    claims = new ApiClaims({ ...deps, csiDrivers, events });
    csiObjects = new ApiCsiObjects({ ...deps, csiDrivers });
    await plane.api.create("/api/v1/nodes", { metadata: { name: node } });
    await plane.api.create("/apis/storage.k8s.io/v1/csidrivers", {
      metadata: { name: driver },
      spec: { attachRequired: true, podInfoOnMount: true },
    });
    for (const name of ["used", "unused"]) await createStorage(name);
    await createPod("used");
  });

  afterAll(async () => {
    stop.abort();
    await Promise.all(running);
    await plane.stop();
  });

  async function connect(): Promise<ApiClient> {
    const parsed = parseCommandLine([
      `--kubeconfig=${plane.nodeKubeconfig(node)}`,
      `--cert-dir=${join(plane.folder, node)}`,
    ]);
    if (!parsed.ok) throw new Error(parsed.error);
    const deps = { nodeName: node, addresses: () => [], log: silentLog, metrics: noMetrics };
    const { clients } = await openClusterConnection(parsed.value, deps, signal);
    if (clients === undefined) throw new Error("the kubeconfig leads to no cluster");
    return clients.api;
  }

  /** A claim bound to a volume that has a secret and is attached to the node. */
  async function createStorage(name: string): Promise<void> {
    const amount = { storage: "1Gi" };
    const shared = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
    await plane.api.create("/api/v1/namespaces/kube-system/secrets", {
      metadata: { name },
      stringData: { key: name },
    });
    const csi = {
      driver,
      volumeHandle: name,
      nodeStageSecretRef: { namespace: "kube-system", name },
    };
    await plane.api.create("/api/v1/persistentvolumes", {
      metadata: { name },
      spec: { ...shared, capacity: amount, csi },
    });
    await plane.api.create(claimsPath, {
      metadata: { name },
      spec: { ...shared, volumeName: name, resources: { requests: amount } },
    });
    await plane.api.create("/apis/storage.k8s.io/v1/volumeattachments", {
      metadata: { name: attachmentOf(name) },
      spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: name } },
    });
    await plane.api.until<PersistentVolumeClaim>(
      claimsPath,
      (items) =>
        items.some(({ metadata, status }) => metadata?.name === name && status?.phase === "Bound"),
      60_000,
    );
  }

  async function createPod(claimName: string): Promise<void> {
    await plane.api.create("/api/v1/namespaces/default/pods", {
      metadata: { name: claimName },
      spec: {
        nodeName: node,
        containers: [{ name: "c", image: "x" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName } }],
      },
    });
  }

  function attachmentOf(handle: string): string {
    return csiAttachmentName({ handle, driver, nodeName: node }, sha256);
  }

  test("the claim of a pod of its own, its volume, attachment and secret are read", async () => {
    // The server may not know of the pod for a moment.
    await expect
      .poll(() => claims.claim("default", "used", signal))
      .toMatchObject({
        ok: true,
        value: { spec: { volumeName: "used" }, status: { phase: "Bound" } },
      });
    expect(await claims.persistentVolume("used", signal)).toMatchObject({
      ok: true,
      value: { spec: { csi: { volumeHandle: "used" }, claimRef: { name: "used" } } },
    });
    expect(await csiObjects.volumeAttachment(attachmentOf("used"), signal)).toMatchObject({
      ok: true,
      value: { spec: { nodeName: node } },
    });
    expect(await csiObjects.secret("kube-system", "used", signal)).toMatchObject({
      ok: true,
      value: { data: { key: Buffer.from("used").toString("base64") } },
    });
  });

  test("nothing that no pod of its own refers to is read, and the failure has the server's text", async () => {
    const refused =
      /^persistentvolumeclaims "unused" is forbidden: .*no relationship found between node 'node-a' and this object/;
    expect(await claims.claim("default", "unused", signal)).toMatchObject({
      ok: false,
      error: expect.stringMatching(refused),
    });
    const absent = await claims.claim("default", "absent", signal);
    expect(absent).toMatchObject({ ok: false, error: expect.stringContaining("absent") });
    expect(await claims.persistentVolume("unused", signal)).toMatchObject({ ok: false });
    expect(await csiObjects.secret("kube-system", "unused", signal)).toMatchObject({
      ok: false,
      error: { code: "failed", message: expect.stringContaining('secrets "unused" is forbidden') },
    });
  });

  test("claims, volumes and attachments cannot be listed", async () => {
    const collections = [
      claimsPath,
      "/api/v1/persistentvolumes",
      "/apis/storage.k8s.io/v1/volumeattachments",
    ];
    for (const path of collections) {
      await expect(api.send({ method: "GET", path }, signal)).rejects.toMatchObject({
        status: 403,
      });
    }
  });

  test("a claim that is gone is not found, in the words that pods show", async () => {
    await createStorage("removed");
    await createPod("removed");
    await expect.poll(() => claims.claim("default", "removed", signal)).toMatchObject({ ok: true });
    await plane.api.delete(`${claimsPath}/removed`);
    // The protection of claims that pods use.
    await plane.api.patch(`${claimsPath}/removed`, { metadata: { finalizers: null } });
    await expect
      .poll(() => claims.claim("default", "removed", signal))
      .toEqual({
        ok: false,
        error: 'persistentvolumeclaims "removed" not found',
      });
  });

  test("the status of a claim is patched, and its spec is not", async () => {
    const claim = await plane.api.get<PersistentVolumeClaim>(`${claimsPath}/used`);
    await expect.poll(() => claims.claim("default", "used", signal)).toMatchObject({ ok: true });
    const grown = { status: { capacity: { storage: "2Gi" } } };
    const patched = await claims.patchStatus(claim, grown, signal);
    expect(patched.status).toMatchObject({ phase: "Bound", capacity: { storage: "2Gi" } });
    const labelled = { metadata: { labels: { a: "b" } } };
    await expect(claims.patchStatus(claim, labelled, signal)).rejects.toMatchObject({
      status: 403,
    });
  });

  test("events about a claim are accepted", async () => {
    const claim = await plane.api.get<PersistentVolumeClaim>(`${claimsPath}/used`);
    claims.record(claim, { type: "Normal", reason: "FileSystemResizeSuccessful", message: "grew" });
    const [event] = await plane.api.until<Event>(
      "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=PersistentVolumeClaim,reason=FileSystemResizeSuccessful",
      (items) => items.length > 0,
      60_000,
    );
    expect(event?.involvedObject).toMatchObject({ name: "used", uid: claim.metadata?.uid });
  });

  test("CSIDriver objects are followed", async () => {
    await expect
      .poll(() => csiObjects.csiDriver(driver))
      .toMatchObject({
        ok: true,
        value: { spec: { podInfoOnMount: true } },
      });
    await plane.api.patch<CSIDriver>(`/apis/storage.k8s.io/v1/csidrivers/${driver}`, {
      spec: { requiresRepublish: true },
    });
    await expect.poll(() => claims.csiDriver(driver)?.spec.requiresRepublish).toBe(true);
    expect(changedDrivers).toEqual([driver]);
  });
});
