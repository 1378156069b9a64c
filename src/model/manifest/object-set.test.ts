import { expect, test } from "vitest";
import { parseJson } from "../../lib/json-parser.ts";
import { type ObjectSet, parseObjectSet } from "./object-set.ts";

const place = {
  nodeName: "n1",
  origin: { kind: "file", path: "/m/a.json" },
  allowedReferences: "configMapsAndSecrets",
} as const;

function parse(...objects: readonly unknown[]): ObjectSet {
  const nodes = objects.map((object) => {
    const parsed = parseJson(JSON.stringify(object));
    if (!parsed.ok) throw new Error(parsed.error.message);
    return parsed.value;
  });
  return parseObjectSet(nodes, place);
}

const pod = (spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "c", image: "x" }], ...spec },
});

test("a pod may refer to config maps and secrets, but not to a service account", () => {
  const volumes = [
    { name: "a", configMap: { name: "settings" } },
    { name: "b", secret: { secretName: "key" } },
  ];
  expect(parse(pod({ volumes })).problems).toEqual([]);
  expect(parse(pod({ serviceAccountName: "x" })).problems).toMatchObject([
    {
      field: "spec.serviceAccountName",
      message: "static pods may not reference serviceaccounts",
    },
  ]);
  const sources = [{ secret: { name: "s" } }, { serviceAccountToken: { path: "token" } }];
  expect(parse(pod({ volumes: [{ name: "a", projected: { sources } }] })).problems).toMatchObject([
    { field: "spec.volumes[0].projected.sources[1].serviceAccountToken" },
  ]);
});

test("a claim is left to the node's admission, which says what to do instead", () => {
  const volumes = [{ name: "a", persistentVolumeClaim: { claimName: "x" } }];
  const { pods, problems } = parse(pod({ volumes }));
  expect(problems).toEqual([]);
  expect(pods).toHaveLength(1);
});

test("an unknown field is refused by name with the nearest known one", () => {
  const { problems, pods } = parse(pod({ hostnetwork: true, zzzzzzzz: 1 }));
  expect(pods).toEqual([]);
  expect(problems.map(({ message }) => message)).toEqual([
    "unknown field spec.hostnetwork: did you mean hostNetwork?",
    "unknown field spec.zzzzzzzz",
  ]);
});

test("unknown fields are named wherever they stand, also in lists and in other kinds", () => {
  const container = {
    name: "c",
    image: "x",
    env: [{ name: "A", valeu: "1" }],
    livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: "a", valu: "b" }] } },
    resources: { limit: { cpu: "1" } },
  };
  const volumes = [{ name: "v", projected: { sources: [{ secret: { nam: "s" } }] } }];
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, dta: {} };
  const { problems } = parse(
    { apiVersion: "v1", kind: "List", items: [pod({ containers: [container], volumes })] },
    configMap,
    { ...pod(), metadata: { name: "web", label: {} } },
  );
  expect(problems.map(({ message }) => message)).toEqual([
    "unknown field spec.containers[0].env[0].valeu: did you mean value?",
    "unknown field spec.containers[0].livenessProbe.httpGet.httpHeaders[0].valu: did you mean value?",
    "unknown field spec.containers[0].resources.limit: did you mean limits?",
    "unknown field spec.volumes[0].projected.sources[0].secret.nam: did you mean name?",
    "unknown field dta: did you mean data?",
    "unknown field metadata.label: did you mean labels?",
  ]);
});

test("each wrong field is a problem of its own", () => {
  const { problems } = parse(pod({ containers: [{ name: "C" }], dnsPolicy: "x" }));
  expect(problems.map(({ field }) => field)).toEqual([
    "spec.containers[0].name",
    "spec.containers[0].image",
    "spec.dnsPolicy",
  ]);
});

test("a list is the objects in it, and other kinds are refused", () => {
  const list = { apiVersion: "v1", kind: "List", items: [pod()] };
  expect(parse(list).pods).toHaveLength(1);
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "x" } };
  expect(parse(service).problems[0]?.message).toContain("kind Service cannot run here");
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "x" } };
  expect(parse(deployment).problems[0]?.message).toMatch(
    /^no kind "Deployment" is registered .*: a manifest holds Pod, .*, PersistentVolume and List of v1, and node.k8s.io\/v1 RuntimeClass, storage.k8s.io\/v1 CSIDriver$/,
  );
});

test("objects of the claims of devices are refused with what to do instead", () => {
  const claim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "x" },
  };
  expect(parse(claim).problems[0]?.message).toMatch(
    /^ResourceClaim of resource.k8s.io cannot be used without a cluster, .*; run the device plugin of the hardware/,
  );
  const other = { apiVersion: "resource.k8s.io/v9", kind: "X\u001b", metadata: { name: "x" } };
  expect(parse(other).problems[0]?.message).toMatch(/^an object of resource.k8s.io cannot/);
});

test("the text of a secret becomes its data", () => {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    data: { a: "eA==", b: "eA==" },
    stringData: { b: "é" },
  };
  expect(parse(secret).secrets[0]).toMatchObject({
    metadata: { namespace: "default" },
    data: { a: "eA==", b: "w6k=" },
  });
});

test("keys and base64 of config maps and secrets are checked", () => {
  const configMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c" },
    data: { "a/b": "" },
  };
  expect(parse(configMap).problems[0]?.field).toBe("data[a/b]");
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { a: "!" } };
  expect(parse(secret).problems[0]).toMatchObject({
    field: "data.a",
    message: "illegal base64 data at input byte 0",
  });
  const tls = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    type: "kubernetes.io/tls",
  };
  expect(parse(tls).problems.map(({ field }) => field)).toEqual(["data[tls.crt]", "data[tls.key]"]);
});

const claim = (spec: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    ...spec,
  },
});

const volume = (spec: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name: "disk" },
  spec: {
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    local: { path: "/srv/disk" },
    ...spec,
  },
});

test("claims, persistent volumes and CSI drivers are read, with the defaults of the API", () => {
  const driver = {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: "csi.example.com" },
    spec: { podInfoOnMount: true },
  };
  const { claims, persistentVolumes, csiDrivers, problems } = parse(claim(), volume(), driver);
  expect(problems).toEqual([]);
  expect(claims).toMatchObject([{ metadata: { namespace: "default", name: "data" } }]);
  expect(persistentVolumes).toMatchObject([
    { spec: { volumeMode: "Filesystem", persistentVolumeReclaimPolicy: "Retain" } },
  ]);
  expect(csiDrivers).toMatchObject([{ spec: { podInfoOnMount: true } }]);
  const iscsi = { targetPortal: "10.0.0.1", iqn: "iqn.2001-04.com.example:a", lun: 0 };
  expect(parse(volume({ local: undefined, iscsi })).persistentVolumes).toMatchObject([
    { spec: { iscsi: { iscsiInterface: "default" } } },
  ]);
});

test.each([
  [claim({ accessModes: ["ReadWriteEverywhere"] }), "spec.accessModes"],
  [claim({ accessModes: [] }), "spec.accessModes"],
  [claim({ accessModes: ["ReadWriteOncePod", "ReadWriteOnce"] }), "spec.accessModes"],
  [claim({ resources: {} }), "spec.resources[storage]"],
  [claim({ volumeMode: "Disk" }), "spec.volumeMode"],
  [claim({ volumename: "x" }), "spec.volumename"],
  [claim({ resources: { requests: { storage: "much" } } }), "spec.resources.requests.storage"],
  [volume({ accessModes: undefined }), "spec.accessModes"],
  [volume({ accessModes: ["x"] }), "spec.accessModes"],
  [volume({ capacity: {} }), "spec.capacity[storage]"],
  [volume({ local: undefined }), "spec"],
  [volume({ local: undefined, rbd: { monitors: ["a"], image: "b" } }), "spec.rbd"],
  [volume({ nfs: { server: "a", path: "/" } }), "spec.nfs"],
  [volume({ local: { path: "/srv/../etc" } }), "spec.local.path"],
  [volume({ local: { path: "" } }), "spec.local.path"],
  [volume({ persistentVolumeReclaimPolicy: "Delete" }), "spec.persistentVolumeReclaimPolicy"],
  [{ ...volume(), metadata: { name: "disk", namespace: "ns" } }, "metadata.namespace"],
  [{ ...volume(), metadata: { name: "Disk" } }, "metadata.name"],
])("what is wrong with a claim or a volume is named by its field: %#", (object, field) => {
  const { claims, persistentVolumes, problems } = parse(object);
  expect([...claims, ...persistentVolumes]).toEqual([]);
  expect(problems).toMatchObject([{ field }]);
  expect(problems[0]?.at).toBeDefined();
});
