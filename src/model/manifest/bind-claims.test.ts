import { describe, expect, test } from "vitest";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
} from "../generated/kubernetes.ts";
import { bindClaims, type ClaimBinding } from "./bind-claims.ts";

function claim(spec: PersistentVolumeClaimSpec = {}, name = "data"): PersistentVolumeClaim {
  const requests = { storage: "1Gi" };
  return {
    metadata: { namespace: "ns", name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests }, ...spec },
  };
}

function volume(spec: PersistentVolumeSpec = {}, name = "disk"): PersistentVolume {
  const offered = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
  return { metadata: { name }, spec: { ...offered, nfs: { server: "s", path: "/" }, ...spec } };
}

function bind(asked: PersistentVolumeClaim, ...volumes: readonly PersistentVolume[]): ClaimBinding {
  const [binding] = bindClaims([asked], volumes);
  if (binding === undefined) throw new Error("a claim got lost");
  return binding;
}

test("a claim that names no volume gets a folder of the node, whatever its class", () => {
  expect(bind(claim(), volume())).toMatchObject({ kind: "folder" });
  expect(bind(claim({ storageClassName: "standard" }))).toMatchObject({ kind: "folder" });
  expect(bind(claim({ accessModes: ["ReadWriteOncePod"] }))).toMatchObject({ kind: "folder" });
});

test("a claim gets the volume that it names, or that names it", () => {
  expect(bind(claim({ volumeName: "disk" }), volume())).toMatchObject({
    kind: "volume",
    volume: { metadata: { name: "disk" } },
  });
  const claimRef = { namespace: "ns", name: "data" };
  expect(bind(claim({ storageClassName: "" }), volume({ claimRef }))).toMatchObject({
    kind: "volume",
  });
  const size = { requests: { storage: "1024Mi" } };
  expect(bind(claim({ volumeName: "disk", resources: size }), volume())).toMatchObject({
    kind: "volume",
  });
});

test("a volume serves one claim, the first by name", () => {
  const claims = [claim({ volumeName: "disk" }, "b"), claim({ volumeName: "disk" }, "a")];
  expect(bindClaims(claims, [volume()])).toMatchObject([
    { kind: "volume", claim: { metadata: { name: "a" } } },
    {
      kind: "none",
      claim: { metadata: { name: "b" } },
      field: "spec.volumeName",
      message: 'PersistentVolume "disk" is bound to the claim ns/a: a volume serves one claim',
    },
  ]);
});

describe("what cannot be had is refused by its field", () => {
  const selector = { matchLabels: { a: "b" } };
  const dataSource = { kind: "PersistentVolumeClaim", name: "other" };
  test.each([
    ["spec.volumeMode", { volumeMode: "Block" }, /^a folder of this node is not a block device: /],
    ["spec.storageClassName", { storageClassName: "" }, /^an empty class asks for a volume/],
    ["spec.selector", { selector }, /^volumes are not selected by labels/],
    ["spec.dataSource", { dataSource }, /cannot be filled from a source/],
    ["spec.volumeName", { volumeName: "none" }, /^PersistentVolume "none" is not in the manifests/],
  ])("%s of a claim", (field, spec, message) => {
    const binding = bind(claim(spec), volume());
    expect(binding).toMatchObject({ kind: "none", field });
    expect("message" in binding && binding.message).toMatch(message);
  });

  test("a name that is too long for a folder", () => {
    const name = "a".repeat(253);
    expect(bind(claim({}, name))).toMatchObject({ kind: "none", field: "metadata.name" });
    expect(bind(claim({ volumeName: "disk" }, name), volume())).toMatchObject({ kind: "volume" });
  });

  const claimRef = { namespace: "ns", name: "other" };
  test.each([
    [
      "spec.volumeName",
      { claimRef },
      'spec.claimRef of PersistentVolume "disk" names the claim ns/other',
    ],
    [
      "spec.storageClassName",
      { storageClassName: "fast" },
      '"" is not the class of PersistentVolume "disk", which is "fast"',
    ],
    [
      "spec.volumeMode",
      { volumeMode: "Block" },
      'Filesystem is not the mode of PersistentVolume "disk", which is Block',
    ],
    [
      "spec.accessModes",
      { accessModes: ["ReadOnlyMany"] },
      'ReadWriteOnce is not among the access modes of PersistentVolume "disk"',
    ],
    [
      "spec.resources.requests.storage",
      { capacity: { storage: "1023Mi" } },
      'more than the capacity of PersistentVolume "disk"',
    ],
  ])("%s of a claim whose volume differs", (field, spec, message) => {
    expect(bind(claim({ volumeName: "disk" }), volume(spec))).toMatchObject({
      kind: "none",
      field,
      message,
    });
  });
});
