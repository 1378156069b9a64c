import type { Quantity } from "../../model/quantity.ts";
import { csiDriverName } from "./csi/csi-volume.ts";
import type { VolumeSpec } from "./volume-spec.ts";
import {
  type NodeVolume,
  type PodMount,
  sizeToExpandFrom,
  type WantedVolume,
} from "./volume-state.ts";

/** What is to be done about one volume next. */
export type VolumeStep =
  | { readonly kind: "verify-attached"; readonly because: string }
  | { readonly kind: "attach"; readonly because: string }
  | { readonly kind: "mount"; readonly isRemount: boolean; readonly because: string }
  | { readonly kind: "expand"; readonly fromSize: Quantity; readonly because: string }
  | { readonly kind: "unmount"; readonly because: string }
  | { readonly kind: "unmount-device"; readonly because: string }
  | { readonly kind: "detach"; readonly because: string }
  | { readonly kind: "forget"; readonly because: string }
  /** The pod has to wait until it was unmounted for others, which its owner should know. */
  | { readonly kind: "conflict"; readonly because: string }
  /** Nothing can be done until something else has happened. */
  | { readonly kind: "wait"; readonly because: string };

/** A volume of a pod as it is wanted and as it is. */
export interface PodVolumeFacts {
  readonly wanted: WantedVolume;
  readonly mount: PodMount | undefined;
  /** Undefined = it is not known to be attached to this node. */
  readonly volume: NodeVolume | undefined;
}

/** How volumes get attached to this node. */
export interface AttachFacts {
  /** A controller attaches and detaches, not this node. */
  readonly byController: boolean;
  /** The node's status reports the volume as in use. */
  readonly isReportedInUse: boolean;
  /** The node's status has the volume as attached. */
  readonly isReportedAttached: boolean;
}

/** Brings a wanted volume nearer to being mounted; undefined when it is as wanted. */
export function planMount(facts: PodVolumeFacts, attach: AttachFacts): VolumeStep | undefined {
  const { wanted, mount, volume } = facts;
  if (volume === undefined) return planAttach(wanted, attach);
  if (volume.seLinuxLabel !== undefined && volume.seLinuxLabel !== wanted.seLinuxLabel) {
    const because = `waiting for unmount of volume "${volume.name}", because it is already mounted to a different pod with a different SELinux label`;
    return { kind: "conflict", because };
  }
  if (mount === undefined) return toMount(false, "the pod needs it");
  if (mount.state === "uncertain") {
    return toMount(false, mount.isFound ? "it was found on disk" : "it may be mounted in part");
  }
  if (mount.isRemountDue) return toMount(true, "what it shows may have changed");
  const fromSize = sizeToExpandFrom(volume, wanted);
  if (fromSize === undefined) return undefined;
  return { kind: "expand", fromSize, because: "the persistent volume is larger than its claim" };
}

const doing: Partial<Record<VolumeStep["kind"], string>> = {
  "verify-attached": "its attachment is being verified",
  attach: "it is being attached",
  mount: "it is being mounted",
  expand: "it is being expanded",
};

/** What is awaited of a volume, for the owner of its pod. `lastError`: why the last try failed. */
export function awaitedText({ kind, because }: VolumeStep, lastError: string | undefined): string {
  if (lastError !== undefined) return `${lastError}; it is tried again`;
  const action = doing[kind];
  return action === undefined ? because : `${action}: ${because}`;
}

function toMount(isRemount: boolean, because: string): VolumeStep {
  return { kind: "mount", isRemount, because };
}

function planAttach(wanted: WantedVolume, attach: AttachFacts): VolumeStep {
  if (!wanted.attachable) {
    return { kind: "verify-attached", because: "it needs no attachment" };
  }
  if (!attach.byController) return { kind: "attach", because: "the pod needs it" };
  if (!attach.isReportedInUse) {
    return { kind: "wait", because: "the node's status does not report it as in use yet" };
  }
  if (!attach.isReportedAttached) {
    return { kind: "wait", because: "the attach-detach controller has not attached it yet" };
  }
  return { kind: "verify-attached", because: "the node's status has it as attached" };
}

/** For a volume that no pod wants or uses any more. */
export function planRelease(volume: NodeVolume, byController: boolean): VolumeStep {
  const because = "no pod on this node uses it";
  if (volume.device !== "not-mounted") return { kind: "unmount-device", because };
  if (byController || volume.isAttachable !== true) return { kind: "forget", because };
  return { kind: "detach", because };
}

/** Why this node cannot attach or detach a volume itself: a CSI volume is attached by its driver's controller. */
export function nodeAttachProblem(
  spec: VolumeSpec,
  operation: "attaching" | "detaching",
): string | undefined {
  if (csiDriverName(spec) === undefined) return undefined;
  return `${operation} volumes from the kubelet is not supported`;
}
