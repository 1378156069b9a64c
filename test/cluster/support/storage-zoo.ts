import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  Container,
  PersistentVolumeClaimSpec,
  PodSpec,
  Volume,
} from "../../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import type { CsiDriver } from "../../integration/support/csi-driver.ts";
import type { ClusterWorld } from "./cluster-world.ts";

/** The kinds of storage that pods of the zoo use. */
export type StorageKind =
  | "disk"
  | "block"
  | "local"
  | "local-disk"
  | "local-block"
  | "ephemeral"
  | "inline";

export const claimsPath = "/api/v1/namespaces/default/persistentvolumeclaims";
export const volumesPath = "/api/v1/persistentvolumes";
export const attachmentsPath = "/apis/storage.k8s.io/v1/volumeattachments";

const size = "24Mi";
const diskBytes = 24 * 2 ** 20;
const blockPath = "/dev/data";

/** The objects that volumes of all kinds need: the driver's, and its storage class. */
export function storageObjects({ name }: CsiDriver): readonly object[] {
  return [
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name },
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        volumeLifecycleModes: ["Persistent", "Ephemeral"],
      },
    },
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "disks" },
      provisioner: name,
    },
  ];
}

function isBlock(kind: StorageKind): boolean {
  return kind === "block" || kind === "local-block";
}

export function isLocal(kind: StorageKind): boolean {
  return kind.startsWith("local");
}

/** Of a claim of that name. */
export function localVolumeName(name: string): string {
  return `${name}-volume`;
}

/** A folder or a disk of the node. The disks are removed with `detachLoopDevices` of the cluster's folder. */
function makeLocal(kind: StorageKind, path: string): string {
  if (kind === "local") {
    mkdirSync(path);
    return path;
  }
  writeFileSync(path, "");
  truncateSync(path, diskBytes);
  return execFileSync("losetup", ["--find", "--show", path], { encoding: "utf8" }).trim();
}

function claimSpec(kind: StorageKind): PersistentVolumeClaimSpec {
  return {
    accessModes: ["ReadWriteOnce"],
    storageClassName: isLocal(kind) ? "" : "disks",
    volumeMode: isBlock(kind) ? "Block" : "Filesystem",
    resources: { requests: { storage: size } },
  };
}

/** Makes what a pod's volume of that kind needs beside the pod. */
export async function createStorage(
  { api, node, plane }: ClusterWorld,
  kind: StorageKind,
  name: string,
): Promise<void> {
  if (kind === "inline" || kind === "ephemeral") return;
  if (isLocal(kind)) {
    const { accessModes, storageClassName, volumeMode } = claimSpec(kind);
    await api.create(volumesPath, {
      metadata: { name: localVolumeName(name) },
      spec: {
        accessModes,
        storageClassName,
        volumeMode,
        capacity: { storage: size },
        local: { path: makeLocal(kind, localVolumeName(join(plane.folder, name))) },
        claimRef: { namespace: "default", name },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: "kubernetes.io/hostname", operator: "In", values: [node.name] },
                ],
              },
            ],
          },
        },
      },
    });
  }
  await api.create(claimsPath, { metadata: { name }, spec: claimSpec(kind) });
}

/** A pod that writes once to its volume, and is ready as long as it can read what it wrote. */
export function storagePod(kind: StorageKind, claimName: string, driver: string): Partial<PodSpec> {
  const file = isBlock(kind) ? blockPath : "/data/mark";
  const script = `[ -s ${file} ] && [ ! -b ${file} ] || hostname > ${file}; ${untilStopped}`;
  const place: Partial<Container> = isBlock(kind)
    ? { volumeDevices: [{ name: "data", devicePath: blockPath }] }
    : { volumeMounts: [{ name: "data", mountPath: "/data" }] };
  const readinessProbe = {
    exec: { command: ["sh", "-c", readMark(kind)] },
    periodSeconds: 5,
    timeoutSeconds: 30,
  };
  return {
    containers: [shell("main", script, { ...place, readinessProbe })],
    volumes: [volumeOf(kind, claimName, driver)],
  };
}

/** Prints what the pod wrote. */
export function readMark(kind: StorageKind): string {
  return isBlock(kind) ? `head -n 1 ${blockPath} | grep .` : "grep . /data/mark";
}

function volumeOf(kind: StorageKind, claimName: string, driver: string): Volume {
  const name = "data";
  switch (kind) {
    case "inline":
      return { name, csi: { driver, volumeAttributes: { medium: "tmpfs" } } };
    case "ephemeral":
      return { name, ephemeral: { volumeClaimTemplate: { spec: claimSpec(kind) } } };
    default:
      return { name, persistentVolumeClaim: { claimName } };
  }
}
