import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { err, ok } from "../../lib/result.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../model/generated/kubernetes.ts";
import { formatQuantity } from "../../model/quantity.ts";
import { nodeFactsOf, resolveVolumes, type VolumeLookups } from "./resolve-volumes.ts";

const claim: PersistentVolumeClaim = {
  metadata: { name: "data", namespace: "default", uid: "claim-1" },
  spec: { volumeName: "pv-1" },
  status: { phase: "Bound" },
};

function volumeOf(size: string): PersistentVolume {
  return {
    metadata: { name: "pv-1" },
    spec: {
      capacity: { storage: size },
      claimRef: { uid: "claim-1" },
      csi: { driver: "d", volumeHandle: "h" },
      volumeMode: "Filesystem",
    },
  };
}

function lookups(size: string): VolumeLookups {
  return {
    origin: "API server",
    claim: (_, name) => (name === "data" ? ok(claim) : err("not found")),
    persistentVolume: () => ok(volumeOf(size)),
    csiDriver: () => undefined,
  };
}

function podWith(readOnlys: readonly boolean[]) {
  const names = readOnlys.map((_, index) => `v${index}`);
  return buildPod({
    spec: {
      containers: [{ name: "c", volumeMounts: names.map((name) => ({ name, mountPath: name })) }],
      volumes: readOnlys.map((readOnly, index) => ({
        name: `v${index}`,
        persistentVolumeClaim: { claimName: "data", readOnly },
      })),
    },
  });
}

function onlyVolume(readOnly: boolean, size: string) {
  const [volume] = resolveVolumes(podWith([readOnly]), lookups(size)).volumes;
  if (volume === undefined) throw new Error("not resolved");
  return volume;
}

test("a claim that a pod names twice is one volume, with the newest spec", () => {
  const { volumes, errors } = resolveVolumes(podWith([true, false]), lookups("1Gi"));
  expect(errors).toEqual([]);
  expect(volumes).toMatchObject([
    { volumeName: "kubernetes.io/csi/d^h", outerVolumeSpecNames: ["v0", "v1"], readOnly: false },
  ]);
});

test("the size that a volume is to have follows a pod that may write to it, not one that reads", () => {
  const sizeAfter = (readOnly: boolean) => {
    const known = nodeFactsOf(onlyVolume(false, "1Gi"), undefined);
    const size = nodeFactsOf(onlyVolume(readOnly, "2Gi"), known).desiredPersistentVolumeSize;
    return size && formatQuantity(size);
  };
  expect(sizeAfter(false)).toBe("2Gi");
  expect(sizeAfter(true)).toBe("1Gi");
});

test("volumes that no container uses are not looked up", () => {
  const pod = buildPod({
    spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "gone" } }] },
  });
  expect(resolveVolumes(pod, lookups("1Gi"))).toEqual({ volumes: [], errors: [] });
});
