// The requests to a driver's node service, without the texts that only a call can give.

import { quoteText } from "../../../lib/go-text.ts";
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from "../../../model/generated/csi.ts";
import type { VolumeSpec } from "../volume-spec.ts";

/** Of a volume without a file system; one that asks for a file system of this name is treated the same. */
export const blockFileSystem = "block";

export interface CapabilityFacts {
  readonly spec: VolumeSpec;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  /** Given to the driver, which then applies it. */
  readonly fsGroup?: number | undefined;
  /** The driver distinguishes one writer on a node from many. */
  readonly singleNodeMultiWriter: boolean;
}

/** How the volume is to be reached. */
export function volumeCapability(facts: CapabilityFacts): VolumeCapability {
  const { spec, fsType, mountFlags, fsGroup, singleNodeMultiWriter } = facts;
  const accessMode = { mode: accessModeOf(spec, singleNodeMultiWriter) };
  if (fsType === blockFileSystem) return { accessMode, block: {} };
  const volumeMountGroup = fsGroup === undefined ? {} : { volumeMountGroup: String(fsGroup) };
  return { accessMode, mount: { fsType, mountFlags, ...volumeMountGroup } };
}

// The first mode of a persistent volume counts, whatever the claim asks for.
function accessModeOf(spec: VolumeSpec, singleNodeMultiWriter: boolean): Mode {
  const modes = spec.source === "inline" ? undefined : spec.persistentVolume.spec?.accessModes;
  switch (modes?.[0] ?? "ReadWriteOnce") {
    case "ReadWriteOnce":
      return singleNodeMultiWriter ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER;
    case "ReadOnlyMany":
      return Mode.MULTI_NODE_READER_ONLY;
    case "ReadWriteMany":
      return Mode.MULTI_NODE_MULTI_WRITER;
    case "ReadWriteOncePod":
      return singleNodeMultiWriter ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER;
    default:
      return Mode.UNKNOWN;
  }
}

/** The mount options of a volume, with the SELinux context where it is mounted with one. */
export function mountFlags(spec: VolumeSpec, seLinuxLabel: string | undefined): readonly string[] {
  const options = spec.source === "inline" ? [] : (spec.persistentVolume.spec?.mountOptions ?? []);
  // Quoted, because a context has commas.
  if (seLinuxLabel === undefined) return options;
  return [...options, `context=${quoteText(seLinuxLabel)}`];
}
