import { err, ok, type Result } from "../../../lib/result.ts";
import type { CSIDriver } from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import { podVolumeDirectory } from "../../paths/data-paths.ts";
import type { Sha256 } from "../csi/csi-paths.ts";
import type { StorageError } from "../storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../volume-spec.ts";

/** Looks a driver's object up; undefined when there is none. */
export type FindCsiDriver = (name: string) => CSIDriver | undefined;

/** What of a volume's treatment depends on its kind, and with CSI on its driver. */
export interface VolumeTraits {
  /** Attached to the node before it can be mounted. */
  readonly attachable: boolean;
  /** Mounted once per node, then for each pod. */
  readonly deviceMountable: boolean;
  /** Set up again at every sync of its pods. */
  readonly requiresRemount: boolean;
  readonly supportsMountOptions: boolean;
  /** Can be mounted with the SELinux context of its pod, instead of being relabelled. */
  readonly supportsSeLinuxMount: boolean;
  /** The node takes part in its expansion. */
  readonly isExpandable: boolean;
}

/** The node, as far as paths depend on it. */
export interface NodePlace {
  readonly root: string;
  readonly sha256: Sha256;
  /** What is at a path of the host, links followed: "directory", "block-device" or another; undefined = nothing. */
  readonly kindOfFile: (path: string) => string | undefined;
}

export interface PodPlace extends NodePlace {
  readonly podUid: PodUid;
}

/** A pod's volume as it is going to be set up. */
export interface PodVolume {
  readonly path: string;
  readonly readOnly: boolean;
  /** Whether the agent gives it the pod's group. */
  readonly managed: boolean;
  readonly seLinuxRelabel: boolean;
}

/** Raw devices in pods. */
interface BlockKind {
  /** The folder of the links to the device on the node, one for each pod. */
  globalMapPath(spec: VolumeSpec, root: string): Result<string, StorageError>;
  /** Where it is staged; undefined for a kind that has no such place. */
  stagingPath?(spec: VolumeSpec, root: string): string;
}

/** A kind of volume: what is decided about it without touching the node. */
export interface VolumeKind {
  /** Names its folders and its volumes, such as kubernetes.io/csi. */
  readonly plugin: string;
  isOf(spec: VolumeSpec): boolean;
  /** What the volume is called among those of its kind; empty when it does not say enough about itself. */
  volumeName(spec: VolumeSpec): Result<string, StorageError>;
  traits(spec: VolumeSpec, findCsiDriver: FindCsiDriver): VolumeTraits;
  podVolume(spec: VolumeSpec, place: PodPlace): Result<PodVolume, StorageError>;
  /** Undefined for a kind that is mounted for pods only. */
  deviceMountPath?(spec: VolumeSpec, place: NodePlace): Result<string, StorageError>;
  /** Undefined for a kind without raw devices. */
  readonly block?: BlockKind;
  /** A volume that was found on disk, as far as its name says what it was. Absent where more has to be read. */
  foundByName?(name: string): VolumeSpec;
}

export const plainTraits: VolumeTraits = {
  attachable: false,
  deviceMountable: false,
  requiresRemount: false,
  supportsMountOptions: false,
  supportsSeLinuxMount: false,
  isExpandable: false,
};

/** Whether it is a raw device or a file system; an API server always says so. */
export function volumeModeOf(spec: VolumeSpec): Result<string, StorageError> {
  if (spec.source === "inline") return ok("Filesystem");
  const mode = spec.persistentVolume.spec?.volumeMode;
  if (mode !== undefined) return ok(mode);
  return failed(`cannot get volumeMode for volume: ${volumeSpecName(spec)}`);
}

export function podVolumePath(plugin: string, spec: VolumeSpec, place: PodPlace): string {
  return podVolumeDirectory(place.root, place.podUid, { plugin, name: volumeSpecName(spec) });
}

/** Of a volume that is mounted with its pod's rights: read-only ones are left as they are. */
export function ownedVolume(path: string, readOnly: boolean, seLinuxRelabel: boolean): PodVolume {
  return { path, readOnly, managed: !readOnly, seLinuxRelabel };
}

export function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
