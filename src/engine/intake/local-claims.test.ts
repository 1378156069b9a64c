import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { resolveVolumes } from "../../core/storage/resolve-volumes.ts";
import { hostFiles } from "../../drivers/linux/host-files.ts";
import { err } from "../../lib/result.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { SourceSnapshot } from "../../ports/pod-source.ts";
import { LocalClaims, LocalCsiObjects } from "./local-claims.ts";
import { LocalObjects } from "./local-objects.ts";

let base: string;
let claimsFolder: string;
const localObjects = new LocalObjects();
let claims: LocalClaims;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "berth-claims-"));
  claimsFolder = join(base, "volumes");
  const rootFolder = join(base, "kubelet");
  claims = new LocalClaims({
    localObjects,
    files: hostFiles,
    log: silentLog,
    rootFolder,
    claimsFolder,
  });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function take(objects: Partial<SourceSnapshot>): boolean {
  return localObjects.set("file", {
    pods: [],
    configMaps: [],
    secrets: [],
    problems: [],
    ignored: [],
    ...objects,
  });
}

const spec = { accessModes: ["ReadWriteOncePod"], resources: { requests: { storage: "1Gi" } } };
const data = { metadata: { namespace: "ns", name: "data" }, spec };
const pod: Pod = {
  metadata: { namespace: "ns", name: "web", uid: podUid("uid-1") },
  spec: {
    containers: [{ name: "c", image: "x", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
  },
};

/** What a pod with the claim gets to mount. */
async function resolve(
  asking = pod,
  claimName = "data",
): Promise<ReturnType<typeof resolveVolumes>> {
  const claim = await claims.claim("ns", claimName);
  const name = claim.ok ? (claim.value.spec?.volumeName ?? "") : "";
  const volume = name === "" ? err("none") : await claims.persistentVolume(name);
  return resolveVolumes(asking, {
    origin: claims.origin,
    whyUnbound: (unbound) => claims.whyUnbound(unbound),
    claim: () => claim,
    persistentVolume: () => volume,
    csiDriver: (driver) => claims.csiDriver(driver),
  });
}

test("a claim without a volume gets a folder that every pod may write to and no user of the machine can reach", async () => {
  take({ claims: [data] });
  const { volumes, errors } = await resolve();
  expect(errors).toEqual([]);
  expect(volumes).toMatchObject([
    {
      volumeName: "kubernetes.io/local-volume/ns_data",
      plugin: "kubernetes.io/local-volume",
      spec: {
        persistentVolume: {
          spec: {
            accessModes: ["ReadWriteOncePod"],
            local: { path: `${claimsFolder}/ns_data` },
            persistentVolumeReclaimPolicy: "Retain",
          },
        },
      },
    },
  ]);
  expect(statSync(claimsFolder).mode & 0o777).toBe(0o700);
  expect(statSync(join(claimsFolder, "ns_data")).mode & 0o777).toBe(0o777);
  expect(readdirSync(claimsFolder)).toEqual([".berth", "ns_data"]);
});

test("a folder that is there keeps the mode that its user gave it", async () => {
  take({ claims: [data] });
  await claims.persistentVolume("ns_data");
  chmodSync(join(claimsFolder, "ns_data"), 0o2750);
  await claims.persistentVolume("ns_data");
  expect(statSync(join(claimsFolder, "ns_data")).mode & 0o7777).toBe(0o2750);
});

test("a claim gets the volume of the folder that it names, and no folder is made", async () => {
  const nfs = { server: "files.example.com", path: "/" };
  const offered = {
    accessModes: ["ReadWriteOncePod"],
    capacity: { storage: "5Gi" },
    volumeMode: "Filesystem",
    nfs,
  };
  take({
    claims: [{ ...data, spec: { ...spec, volumeName: "share" } }],
    persistentVolumes: [{ metadata: { name: "share" }, spec: offered }],
  });
  expect(await resolve()).toMatchObject({
    errors: [],
    volumes: [{ plugin: "kubernetes.io/nfs", claim: { status: { capacity: { storage: "5Gi" } } } }],
  });
  expect(readdirSync(base)).toEqual([]);
});

test("a claim that gets nothing leaves its pods waiting, and says why", async () => {
  take({ claims: [{ ...data, spec: { ...spec, volumeName: "none" } }] });
  expect((await resolve()).errors).toEqual([
    'error processing PVC ns/data: PVC is not bound: spec.volumeName: PersistentVolume "none" is not in the manifests: add it, or leave the field out and the claim gets a folder of this node',
  ]);
  take({});
  expect((await resolve()).errors).toEqual([
    'error processing PVC ns/data: failed to fetch PVC from the manifests: persistentvolumeclaims "data" not found',
  ]);
  expect(await claims.persistentVolume("ns_data")).toEqual({
    ok: false,
    error: 'persistentvolumes "ns_data" not found',
  });
});

test("an ephemeral volume of a pod gets a folder of the pod, unless a claim of its name is another's", async () => {
  const volumeClaimTemplate = { metadata: { labels: { a: "b" } }, spec };
  const scratch = { name: "v", ephemeral: { volumeClaimTemplate } };
  const owner: Pod = { ...pod, spec: { ...pod.spec, volumes: [scratch] } };
  take({ pods: [owner] });
  const path = join(base, "kubelet/pods/uid-1/plugins/kubernetes.io~local-volume/v");
  expect(await resolve(owner, "web-v")).toMatchObject({
    errors: [],
    volumes: [
      {
        volumeName: "kubernetes.io/local-volume/uid-1_v",
        spec: { persistentVolume: { spec: { local: { path } } } },
      },
    ],
  });
  expect(statSync(path).mode & 0o777).toBe(0o777);
  take({ pods: [owner], claims: [{ ...data, metadata: { namespace: "ns", name: "web-v" } }] });
  expect((await resolve(owner, "web-v")).errors).toEqual([
    "PVC ns/web-v was not created for pod ns/web (pod is not owner)",
  ]);
});

test("a change of a claim is a change of the objects", () => {
  take({});
  expect(take({ claims: [data] })).toBe(true);
  expect(take({ claims: [data] })).toBe(false);
});

test("no CSI driver waits for attachments, which nothing makes here", async () => {
  take({
    csiDrivers: [{ metadata: { name: "a" }, spec: { attachRequired: true, podInfoOnMount: true } }],
  });
  const defaults = {
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    volumeLifecycleModes: ["Persistent"],
  };
  const used = { ...defaults, attachRequired: false };
  expect(claims.csiDriver("a").spec).toMatchObject({ ...used, podInfoOnMount: true });
  expect(claims.csiDriver("b").spec).toMatchObject({ ...used, podInfoOnMount: false });
  const objects = new LocalCsiObjects(localObjects);
  expect(objects.csiDriver("b")).toMatchObject({ ok: true });
  expect(await objects.secret("ns", "login")).toMatchObject({ error: { code: "not-found" } });
  take({ secrets: [{ metadata: { namespace: "ns", name: "login" }, data: {} }] });
  expect(await objects.secret("ns", "login")).toMatchObject({ ok: true });
});
