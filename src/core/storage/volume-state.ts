import type { Pod } from "../../model/pod.ts";
import { compareQuantity, isZeroQuantity, type Quantity } from "../../model/quantity.ts";
import type { MountedVolume } from "../mount/container-mounts.ts";
import type { ResolvedVolume } from "./resolve-volumes.ts";
import type { VolumeLabels } from "./selinux-label.ts";
import type { VolumeSpec } from "./volume-spec.ts";

/** A volume that a pod is to have. */
export interface WantedVolume extends ResolvedVolume, VolumeLabels {
  /** As it was when the volume was resolved. */
  readonly pod: Pod;
  /** When it was first asked for, by the monotonic clock. */
  readonly wantedMs: number;
}

/** Something was mounted for a pod, or may have been: an operation that did not end properly leaves it uncertain. */
export interface PodMount {
  readonly state: "mounted" | "uncertain";
  readonly spec: VolumeSpec;
  readonly plugin: string;
  /** As containers get it; undefined while it is not known to be there. */
  readonly volume: MountedVolume | undefined;
  /** The group that a persistent volume asks the pod's processes to have; empty = none. */
  readonly groupId: string;
  /** Its content follows something that may have changed. */
  readonly isRemountDue: boolean;
  /** The SELinux context it is mounted with; empty = none. */
  readonly seLinuxLabel: string;
  /** Found on disk by this agent, and not set up by it since. */
  readonly isFound: boolean;
}

/** A volume on this node, whichever pods use it: attached, and with a device that is mounted once for all of them. */
export interface NodeVolume {
  readonly name: string;
  readonly spec: VolumeSpec;
  readonly plugin: string;
  /** Undefined for a volume found on disk until the node's status has been read. */
  readonly isAttachable: boolean | undefined;
  readonly devicePath: string;
  readonly device: "mounted" | "uncertain" | "not-mounted";
  readonly deviceMountPath: string;
  /** The SELinux context with which it is mounted; undefined until it is mounted. */
  readonly seLinuxLabel: string | undefined;
  /** What the claim has; undefined until known. */
  readonly size: Quantity | undefined;
  readonly isFound: boolean;
  /** The pods that this agent took the device away from: what is left at their places is not the device. */
  readonly unmappedFor?: ReadonlySet<string> | undefined;
  /** The driver cannot expand it while it is in use. */
  readonly isExpansionRefused: boolean;
  readonly hasExpansionFailed: boolean;
}

/** A volume of which nothing is mounted yet. */
export function newNodeVolume(
  volume: Pick<NodeVolume, "name" | "spec" | "plugin" | "isAttachable" | "devicePath">,
): NodeVolume {
  return {
    ...volume,
    device: "not-mounted",
    deviceMountPath: "",
    seLinuxLabel: undefined,
    size: undefined,
    isFound: false,
    isExpansionRefused: false,
    hasExpansionFailed: false,
  };
}

/** Of what lies on disk: nothing is known of how far it came. */
export function foundMount(spec: VolumeSpec, plugin: string, seLinuxLabel = ""): PodMount {
  return {
    state: "uncertain",
    spec,
    plugin,
    volume: undefined,
    groupId: "",
    isRemountDue: false,
    seLinuxLabel,
    isFound: true,
  };
}

/** The size to expand from; undefined when the volume is as large as it should be, or that is not known. */
export function sizeToExpandFrom(
  { size, isExpansionRefused }: NodeVolume,
  { desiredPersistentVolumeSize: wanted, isExpandable }: WantedVolume,
): Quantity | undefined {
  if (isExpansionRefused || !isExpandable) return undefined;
  if (size === undefined || wanted === undefined) return undefined;
  if (isZeroQuantity(size) || isZeroQuantity(wanted)) return undefined;
  return compareQuantity(wanted, size) > 0 ? size : undefined;
}
