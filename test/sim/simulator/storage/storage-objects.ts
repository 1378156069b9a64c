import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../../../src/model/generated/kubernetes.ts";

/** A driver whose volumes are attached by a controller and staged once per node. */
export const diskDriver = "disk.sim";
/** Neither attaches nor stages; its volumes are published again and again. */
const filesDriver = "files.sim";
/** Its volumes are written in pods and end with them. */
export const inlineDriver = "inline.sim";
export const driverNames: readonly string[] = [diskDriver, filesDriver, inlineDriver];

/** A claim and the volume behind it. */
export interface SimClaim {
  readonly claim: string;
  readonly volume: string;
  readonly driver: string | undefined;
  readonly handle: string;
  readonly isBlock: boolean;
  readonly accessMode: string;
  readonly isAttachable: boolean;
}

const isLinux = { key: "kubernetes.io/os", operator: "In", values: ["linux"] };
const onLinux = { required: { nodeSelectorTerms: [{ matchExpressions: [isLinux] }] } };

const smallestSize = "1Gi";
export const smallestBytes: bigint = 2n ** 30n;

function claimOf(
  claim: string,
  driver: string | undefined,
  accessMode: string,
  isBlock = false,
): SimClaim {
  const isAttachable = driver === diskDriver;
  const names = { claim, volume: `pv-${claim}`, handle: `handle-${claim}` };
  return { ...names, driver, isBlock, accessMode, isAttachable };
}

/** The claims of every world; those that one pod may use alone are named after the pods that do. */
export const simClaims: readonly SimClaim[] = [
  claimOf("disk-1", diskDriver, "ReadWriteOnce"),
  claimOf("disk-2", diskDriver, "ReadWriteOnce"),
  claimOf("shared", diskDriver, "ReadWriteMany"),
  claimOf("raw", diskDriver, "ReadWriteMany", true),
  claimOf("files", filesDriver, "ReadWriteMany"),
  claimOf("folder", undefined, "ReadWriteOnce"),
  ...["one", "two", "three"].map((pod) => claimOf(`once-${pod}`, diskDriver, "ReadWriteOncePod")),
];

/** In the manifests of a node without a cluster, which makes a folder for it. */
export const plainClaim: SimClaim = {
  ...claimOf("plain", undefined, "ReadWriteOnce"),
  volume: "default_plain",
};

export function findClaim(name: string): SimClaim | undefined {
  return [...simClaims, plainClaim].find(({ claim }) => claim === name);
}

export function findVolume(driver: string, handle: string): SimClaim | undefined {
  return simClaims.find((each) => each.driver === driver && each.handle === handle);
}

/** As the node's status names it. */
export function attachedName({ driver, handle }: Pick<SimClaim, "driver" | "handle">): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

export function claimObject(
  { claim, volume, accessMode, isBlock }: SimClaim,
  phase: "Bound" | "Pending",
  size: string = smallestSize,
): PersistentVolumeClaim {
  const isBound = phase === "Bound";
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: claim, namespace: "default", uid: claimUid(claim) },
    spec: {
      accessModes: [accessMode],
      volumeMode: isBlock ? "Block" : "Filesystem",
      resources: { requests: { storage: size } },
      ...(isBound ? { volumeName: volume } : {}),
    },
    status: { phase, ...(isBound ? { capacity: { storage: smallestSize } } : {}) },
  };
}

export function volumeObject(
  { claim, volume, driver, handle, accessMode, isBlock }: SimClaim,
  size: string = smallestSize,
): PersistentVolume {
  const source =
    driver === undefined
      ? { local: { path: `/mnt/${claim}` }, nodeAffinity: onLinux }
      : { csi: { driver, volumeHandle: handle, ...(isBlock ? {} : { fsType: "ext4" }) } };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volume },
    spec: {
      ...source,
      accessModes: [accessMode],
      capacity: { storage: size },
      volumeMode: isBlock ? "Block" : "Filesystem",
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace: "default", name: claim, uid: claimUid(claim) },
    },
    status: { phase: "Bound" },
  };
}

export function driverObject(name: string): CSIDriver {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name },
    spec: {
      attachRequired: name === diskDriver,
      podInfoOnMount: name === inlineDriver,
      requiresRepublish: name === filesDriver,
      volumeLifecycleModes: [name === inlineDriver ? "Ephemeral" : "Persistent"],
      fsGroupPolicy: "ReadWriteOnceWithFSType",
    },
  };
}

/** Of a claim or a volume; zero when nothing is said. */
export function sizeBytes(resources: Readonly<Record<string, string>> | undefined): bigint {
  const gibibytes = /^(\d+)Gi$/.exec(resources?.["storage"] ?? "")?.[1] ?? "0";
  return BigInt(gibibytes) * 2n ** 30n;
}

function claimUid(claim: string): string {
  return `uid-of-${claim}`;
}
