import { expect, test } from "vitest";
import type { ObjectMeta, PersistentVolumeSpec } from "../../../model/generated/kubernetes.ts";
import { translateToCsi } from "./translate-to-csi.ts";

const zoneLabel = "topology.kubernetes.io/zone";
const oldZoneLabel = "failure-domain.beta.kubernetes.io/zone";
const oldRegionLabel = "failure-domain.beta.kubernetes.io/region";

/** The spec of the persistent volume after translation, or why there is none. */
function translated(spec: PersistentVolumeSpec, metadata: ObjectMeta = {}) {
  const persistentVolume = { metadata: { name: "pv-1", ...metadata }, spec };
  const result = translateToCsi(
    { source: "persistentVolume", persistentVolume, readOnly: true },
    "ns",
  );
  if (!result.ok) return result.error;
  if (result.value.source === "inline") throw new Error("inline");
  expect(result.value.readOnly).toBe(true);
  return result.value.persistentVolume.spec;
}

test("a volume that no driver has taken over stays as it is", () => {
  const spec = { source: "inline", volume: { name: "v", emptyDir: {} } } as const;
  expect(translateToCsi(spec, "ns")).toEqual({ ok: true, value: spec });
});

test("a disk of AWS with its zone in its id keeps the id, and any other form is refused", () => {
  const id = (volumeID: string) => translated({ awsElasticBlockStore: { volumeID } });
  expect(id("aws://us-east-1a/vol-1/")).toMatchObject({ csi: { volumeHandle: "vol-1" } });
  expect(id("aws://us-east-1a/disk")).toBe(
    "failed to translate in-tree pv to CSI: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk)",
  );
  expect(id("aws://%zz/vol-1")).toContain("Invalid disk name (aws://%zz/vol-1): parse");
});

test("zones of a label become the driver's topology, added to every term", () => {
  const matchExpressions = [{ key: "host", operator: "In", values: ["a"] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const labels = { [zoneLabel]: "z2__z1__ " };
  const spec = translated({ cinder: { volumeID: "c" }, nodeAffinity }, { labels });
  const added = {
    key: "topology.cinder.csi.openstack.org/zone",
    operator: "In",
    values: ["z1", "z2"],
  };
  expect(spec).toMatchObject({
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [...matchExpressions, added] }] },
    },
  });
});

test("zones and regions of a node affinity are renamed, old names of regions too", () => {
  const matchExpressions = [
    { key: oldZoneLabel, operator: "In", values: ["z"] },
    { key: oldRegionLabel, operator: "In", values: ["r"] },
  ];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const keys = (spec: PersistentVolumeSpec) => {
    const result = translated({ ...spec, nodeAffinity });
    if (typeof result === "string") return result;
    const [term] = result?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    return term?.matchExpressions?.map(({ key }) => key);
  };
  expect(keys({ awsElasticBlockStore: { volumeID: "vol-1" } })).toEqual([
    "topology.ebs.csi.aws.com/zone",
    "topology.kubernetes.io/region",
  ]);
  expect(keys({ vsphereVolume: { volumePath: "p" } })).toEqual([
    "topology.csi.vmware.com/zone",
    "topology.csi.vmware.com/region",
  ]);
});

test("a disk of GCE in several zones is one of their region, and is written by one node", () => {
  const disk = (zones: string) =>
    translated(
      { gcePersistentDisk: { pdName: "d" }, accessModes: ["ReadWriteMany", "ReadOnlyMany"] },
      { labels: { [oldZoneLabel]: zones } },
    );
  expect(disk("us-east1-a__us-east1-b")).toMatchObject({
    csi: { volumeHandle: "projects/UNSPECIFIED/regions/us-east1/disks/d" },
    accessModes: ["ReadWriteOnce"],
  });
  expect(disk("us-east1-a")).toMatchObject({
    csi: { volumeHandle: "projects/UNSPECIFIED/zones/us-east1-a/disks/d" },
  });
  expect(disk("us-east1-a__us-west1-a")).toContain(
    "multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]",
  );
  expect(disk("a__b")).toContain("zone in unexpected format");
});

test("only managed disks of Azure have a driver", () => {
  expect(translated({ azureDisk: { diskName: "d", diskURI: "/d", kind: "Dedicated" } })).toBe(
    "failed to translate in-tree pv to CSI: kind(Dedicated) is not supported in csi migration",
  );
  const { ok, value } = Object(
    translateToCsi(
      {
        source: "inline",
        volume: {
          name: "v",
          azureDisk: { diskName: "d", diskURI: "/d", cachingMode: "", fsType: "ext4" },
        },
      },
      "ns",
    ),
  );
  expect(ok).toBe(true);
  expect(value.persistentVolume.spec.csi.volumeAttributes).toEqual({
    kind: "Managed",
    fstype: "ext4",
  });
});

test("a share of Azure is named by account, share, volume and the namespace of its secret", () => {
  const azureFile = { secretName: "azure-storage-account-acc-secret", shareName: "s" };
  const annotations = { "kubernetes.io/azure-file-resource-group": "group" };
  const claimRef = { namespace: "claims" };
  expect(translated({ azureFile, claimRef }, { annotations })).toMatchObject({
    csi: { volumeHandle: "group#acc#s#pv-1#claims" },
  });
  expect(translated({ azureFile })).toContain("could not find a secret namespace");
});

test("the secret of a Portworx volume is used for every call", () => {
  const annotations = {
    "openstorage.io/auth-secret-name": "s",
    "openstorage.io/auth-secret-namespace": "n",
  };
  const secret = { name: "s", namespace: "n" };
  expect(translated({ portworxVolume: { volumeID: "p" } }, { annotations })).toMatchObject({
    csi: { nodeStageSecretRef: secret, nodePublishSecretRef: secret, nodeExpandSecretRef: secret },
  });
});

test("a storage policy of vSphere is passed on", () => {
  const vsphereVolume = { volumePath: "p", storagePolicyName: "gold" };
  expect(translated({ vsphereVolume })).toMatchObject({
    csi: { volumeAttributes: { storagepolicyname: "gold" } },
  });
});
