import { readFileSync } from "node:fs";
import type {
  CSIDriverSpec,
  Event,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PodSpec,
  Volume,
  VolumeAttachment,
} from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import { CsiDriver } from "../../integration/support/csi-driver.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { testedAgent } from "./cluster-node.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./cluster-pods.ts";
import { ClusterWorld } from "./cluster-world.ts";
import type { Kubectl } from "./kubectl.ts";

export const claimsPath = "/api/v1/namespaces/default/persistentvolumeclaims";
export const volumesPath = "/api/v1/persistentvolumes";
export const attachmentsPath = "/apis/storage.k8s.io/v1/volumeattachments";

/** Volumes come up in several steps of several programs, each of which may have to try again. */
export const storageTimeoutMs = 150_000;

interface StorageWorldOptions {
  /** Of tools/cluster/csi-driver. */
  readonly flags?: readonly string[];
  readonly csiDriver?: CSIDriverSpec;
}

/** A cluster with a CSI driver; its storage class "disks" makes volumes for the first pod that wants them. */
export class StorageWorld {
  readonly cluster: ClusterWorld;
  readonly driver: CsiDriver;

  private constructor(cluster: ClusterWorld, driver: CsiDriver) {
    this.cluster = cluster;
    this.driver = driver;
  }

  static async start(options: StorageWorldOptions = {}): Promise<StorageWorld> {
    const cluster = await ClusterWorld.start(testedAgent, { config: { syncFrequency: "5s" } });
    try {
      const world = new StorageWorld(cluster, await startDriver(cluster, options));
      await cluster.kubectl.apply(storageClass("disks", world.driver));
      return world;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  get api(): ClusterApi {
    return this.cluster.api;
  }

  get kubectl(): Kubectl {
    return this.cluster.kubectl;
  }

  /** Another driver beside the first; the caller has to close it before the cluster. */
  addDriver(options: StorageWorldOptions = {}): Promise<CsiDriver> {
    return startDriver(this.cluster, options);
  }

  async createClaim(name: string, spec: Partial<PersistentVolumeClaimSpec> = {}): Promise<void> {
    await this.api.create(claimsPath, { metadata: { name }, spec: claimSpec(spec) });
  }

  /** Sets what a claim asks for. */
  async resizeClaim(name: string, storage: string): Promise<void> {
    const spec = { resources: { requests: { storage } } };
    await this.api.patch(`${claimsPath}/${name}`, { spec });
  }

  async untilClaim(
    name: string,
    isReached: (claim: PersistentVolumeClaim) => boolean,
  ): Promise<PersistentVolumeClaim> {
    const path = `${claimsPath}?fieldSelector=metadata.name=${name}`;
    const found = await this.api.until<PersistentVolumeClaim>(
      path,
      (claims) => claims.some(isReached),
      storageTimeoutMs,
    );
    return found[0] as PersistentVolumeClaim;
  }

  /** The driver's id of the claim's volume. */
  async handleOf(claim: string): Promise<string> {
    const { spec } = await this.untilClaim(claim, ({ status }) => status?.phase === "Bound");
    const volume = await this.api.get<PersistentVolume>(`${volumesPath}/${spec?.volumeName}`);
    return volume.spec?.csi?.volumeHandle ?? "";
  }

  /** A pod with a volume "data" that its container has at /data. */
  createPodWith(
    name: string,
    source: Omit<Volume, "name">,
    spec: Partial<PodSpec> = {},
  ): Promise<Pod> {
    return createPod(this.api, name, { spec: { ...specWith(source), ...spec } });
  }

  async startPodWith(
    name: string,
    source: Omit<Volume, "name">,
    spec: Partial<PodSpec> = {},
  ): Promise<Pod> {
    await this.createPodWith(name, source, spec);
    return this.untilReady(name);
  }

  untilReady(name: string): Promise<Pod> {
    return untilPod(this.api, name, isReady, storageTimeoutMs);
  }

  async deletePod(name: string): Promise<void> {
    await this.api.delete(`${podsPath}/${name}`);
    await untilNoPods(this.api, `?fieldSelector=metadata.name=${name}`, storageTimeoutMs);
  }

  /** What a script prints in the pod's container. */
  inside(pod: string, script: string): Promise<string> {
    return this.kubectl.run("exec", pod, "--", "sh", "-c", script);
  }

  /** Writes random bytes to /data; resolves to their checksum. */
  writeData(pod: string): Promise<string> {
    return this.inside(
      pod,
      `dd if=/dev/urandom of=/data/blob bs=1M count=4 && sync && ${checksum}`,
    );
  }

  readData(pod: string): Promise<string> {
    return this.inside(pod, checksum);
  }

  /** The messages of a pod's events with that reason, as soon as one is as wanted. */
  async untilEvent(
    pod: string,
    reason: string,
    isWanted: (message: string) => boolean,
  ): Promise<string> {
    const selector = `involvedObject.name=${pod},reason=${reason}`;
    const found = await this.api.until<Event>(
      `/api/v1/namespaces/default/events?fieldSelector=${selector}`,
      (events) => events.some(({ message = "" }) => isWanted(message)),
      storageTimeoutMs,
    );
    return found.map(({ message = "" }) => message).find(isWanted) ?? "";
  }

  /** The node's object now and after every change until the signal aborts. */
  async watchNode(note: (node: Node) => void, signal: AbortSignal): Promise<void> {
    const path = `/api/v1/nodes?fieldSelector=metadata.name=${this.cluster.node.name}`;
    while (!signal.aborted) {
      try {
        for await (const [node] of this.api.states<Node>(path, signal)) {
          if (node !== undefined) note(node);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  /** Resolves once the volumes of these claims are attached nowhere. */
  async untilDetached(...claims: readonly string[]): Promise<void> {
    const found = await this.api.list<PersistentVolumeClaim>(claimsPath);
    const volumes = found
      .filter(({ metadata }) => claims.includes(metadata?.name ?? ""))
      .map(({ spec }) => spec?.volumeName);
    await this.api.until<VolumeAttachment>(
      attachmentsPath,
      (items) => !items.some(({ spec }) => volumes.includes(spec.source.persistentVolumeName)),
      storageTimeoutMs,
    );
  }

  /** Where something is mounted below the node's folder, once for every mount. */
  mountPoints(): readonly string[] {
    return readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[4] ?? "")
      .filter((path) => path.startsWith(`${this.cluster.node.rootDir}/`));
  }

  async close(): Promise<void> {
    // Its socket is in the node's folder, which may be a mount.
    await this.driver.stop();
    await this.cluster.close();
    await this.driver[Symbol.asyncDispose]();
  }
}

const checksum = "sha256sum < /data/blob";

async function startDriver(
  { node, plane, kubectl }: ClusterWorld,
  { flags = [], csiDriver = {} }: StorageWorldOptions,
): Promise<CsiDriver> {
  const driver = await CsiDriver.start({
    kubeletRoot: node.rootDir,
    kubeconfig: plane.kubeconfig,
    nodeId: "disk-host-1",
    flags,
  });
  await kubectl.apply({
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: driver.name },
    spec: { attachRequired: true, ...csiDriver },
  });
  return driver;
}

export function storageClass(
  name: string,
  { name: provisioner }: CsiDriver,
  fileSystem: "ext4" | "xfs" = "ext4",
): object {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner,
    parameters: { "csi.storage.k8s.io/fstype": fileSystem },
    allowVolumeExpansion: true,
    volumeBindingMode: "WaitForFirstConsumer",
  };
}

export function claimSpec(
  more: Partial<PersistentVolumeClaimSpec> = {},
): PersistentVolumeClaimSpec {
  return {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "disks",
    resources: { requests: { storage: "32Mi" } },
    ...more,
  };
}

/** One container that has the volume "data" at /data. */
export function specWith(source: Omit<Volume, "name">): PodSpec {
  return {
    containers: [
      shell("main", untilStopped, { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
    ],
    volumes: [{ name: "data", ...source }],
    terminationGracePeriodSeconds: 10,
  };
}

export function claimed(claimName: string): Omit<Volume, "name"> {
  return { persistentVolumeClaim: { claimName } };
}
