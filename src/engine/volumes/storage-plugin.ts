import type { StorageError } from "../../core/storage/storage-error.ts";
import type { VolumeSpec } from "../../core/storage/volume-spec.ts";
import type { Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Quantity } from "../../model/quantity.ts";

/** What an operation of storage answers. Expected failures are values; an abort of its signal rejects. */
export type StorageResult<T> = Promise<Result<T, StorageError>>;

/** A device that all pods of the node share. */
export interface DeviceRequest {
  readonly spec: VolumeSpec;
  /** The pod that is first to need it. */
  readonly pod: Pod;
  /** What waitForAttach answered; empty for a volume that is not attached. */
  readonly devicePath: string;
  readonly deviceMountPath: string;
  readonly fsGroup?: number | undefined;
  /** Mount with this SELinux context; undefined = without one. */
  readonly seLinuxLabel?: string | undefined;
  /** An attempt that did not end properly, or one of a past agent, may have done it. */
  readonly mayBeThere?: boolean | undefined;
}

/** A volume of one pod. */
export interface PodVolumeRequest extends DeviceRequest {
  readonly fsGroupChangePolicy?: string | undefined;
  /** The volume is mounted already, and is to show what is current. */
  readonly isRemount: boolean;
  /** An agent before this one mounted it. */
  readonly reconstructed: boolean;
}

/** A volume of a pod as it was set up. */
export interface StoredVolume {
  readonly path: string;
  readonly readOnly: boolean;
  /** Whether the agent manages the volume's ownership and labels. */
  readonly managed: boolean;
  readonly seLinuxRelabel: boolean;
}

/** A volume of a pod as the disk knows it. */
export interface PodVolumeTarget {
  readonly podUid: PodUid;
  /** The inner name: of the pod's volume, or of the persistent volume behind its claim. */
  readonly volumeSpecName: string;
}

/** A raw device that no pod uses any more. */
export interface BlockDeviceTarget extends PodVolumeTarget {
  /** The folder below volumeDevices of the plugin. */
  readonly globalMapPath: string;
  /** What waitForAttach answered; empty when that is not known any more. */
  readonly devicePath: string;
}

export interface ExpandRequest {
  readonly spec: VolumeSpec;
  readonly newSize: Quantity;
  /** For a block volume: where its device is. */
  readonly devicePath: string;
  /** Where its file system is mounted. */
  readonly deviceMountPath: string;
  /** Where it was staged; empty when it was not. */
  readonly deviceStagePath: string;
}

export interface StatsRequest {
  readonly spec: VolumeSpec;
  readonly podUid: PodUid;
}

/** What a volume reports about itself; bytes and inodes. */
export interface VolumeStats {
  readonly availableBytes: bigint;
  readonly capacityBytes: bigint;
  readonly usedBytes: bigint;
  readonly inodesFree: bigint;
  readonly inodes: bigint;
  readonly inodesUsed: bigint;
  /** Only where the driver watches the health of its volumes. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string } | undefined;
}

/** A volume that was found on disk. */
export interface FoundStorage extends PodVolumeTarget {
  /** The folder of the pod's volume, or the link of its block device. */
  readonly path: string;
}

/** A volume that is staged on the node, whether or not a pod has it. */
export interface FoundDevice {
  /** The folder that it has on the node. */
  readonly path: string;
  /** What is known of it, or why nothing is. */
  readonly volume: Result<VolumeSpec, StorageError>;
  /** The SELinux context it was mounted with; empty = none, undefined = not known. */
  readonly seLinuxMountContext?: string | undefined;
}

export interface ReconstructedVolume {
  readonly spec: VolumeSpec;
  /** False for one of which only pods have something mounted. */
  readonly hasDevice?: boolean;
  /** The SELinux context it was mounted with. */
  readonly seLinuxMountContext?: string | undefined;
}

/** Raw devices in pods. Paths are those of volumeDevices; linking them into the pod's folder is the same for all plugins. */
export interface BlockStorage {
  /** Once per node. Answers the path at which the device is staged, empty when the plugin does not stage. */
  setUpDevice(
    request: Pick<DeviceRequest, "spec" | "pod" | "mayBeThere">,
    signal: AbortSignal,
  ): StorageResult<string>;
  /** Answers the path of the device for this pod. */
  mapPodDevice(
    request: Pick<DeviceRequest, "spec" | "pod" | "mayBeThere">,
    signal: AbortSignal,
  ): StorageResult<string>;
  unmapPodDevice(target: PodVolumeTarget, signal: AbortSignal): StorageResult<void>;
  tearDownDevice(target: BlockDeviceTarget, signal: AbortSignal): StorageResult<void>;
  /** The pods that the device may be published for, by what lies on disk. */
  publishedFor?(volumeSpecName: string): Promise<readonly PodUid[]>;
  reconstruct(found: FoundStorage, signal: AbortSignal): StorageResult<ReconstructedVolume>;
}

/** What is done once per node, before the volume is set up for pods. */
export interface DeviceStorage {
  /** Whether a controller attaches it before it can be mounted. */
  isAttachable(spec: VolumeSpec): Result<boolean, StorageError>;
  /** Whether it is mounted once per node. */
  isMountable(spec: VolumeSpec): boolean;
  /** Answers the device's path once it is attached; does not wait for an attachment that is not there yet. */
  waitForAttach(
    request: Pick<DeviceRequest, "spec" | "pod">,
    signal: AbortSignal,
  ): StorageResult<string>;
  /** Answers at once unless it depends on what lies on the node. */
  mountPath(
    spec: VolumeSpec,
    signal: AbortSignal,
  ): Result<string, StorageError> | StorageResult<string>;
  mountDevice(request: DeviceRequest, signal: AbortSignal): StorageResult<void>;
  unmountDevice(deviceMountPath: string, signal: AbortSignal): StorageResult<void>;
  /** Those that any agent has left, file systems and raw devices: an agent that ends early leaves some that no pod has any more. */
  find?(): Promise<readonly FoundDevice[]>;
}

/** A type of persistent storage: attached and mounted once per node, then set up for each pod. */
export interface StoragePlugin {
  /** Names its folders, such as kubernetes.io/csi. */
  readonly name: string;
  /** Whether it is set up again at every sync of its pods. */
  requiresRemount(spec: VolumeSpec): boolean;
  /** Undefined for storage that only pods mount. */
  readonly device?: DeviceStorage;
  /** Undefined for storage without raw devices. */
  readonly block?: BlockStorage;
  setUp(request: PodVolumeRequest, signal: AbortSignal): StorageResult<StoredVolume>;
  tearDown(target: PodVolumeTarget, signal: AbortSignal): StorageResult<void>;
  expand?(request: ExpandRequest, signal: AbortSignal): StorageResult<void>;
  stats?(request: StatsRequest, signal: AbortSignal): StorageResult<VolumeStats>;
  /** Whether nothing is left of it but its folder, which goes with the pod's. */
  isTakenDown?(target: PodVolumeTarget): Promise<boolean>;
  reconstruct(found: FoundStorage, signal: AbortSignal): StorageResult<ReconstructedVolume>;
}
