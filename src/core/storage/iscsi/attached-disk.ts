import { ok, type Result } from "../../../lib/result.ts";
import type { StorageError } from "../storage-error.ts";
import { parseIscsiFile } from "./iscsi-file.ts";
import { diskFolderName, interfaceOf, lunOf, portalAndIqn } from "./iscsi-path.ts";

/** What a detach knows of a disk. */
export interface AttachedDisk {
  /** Without duplicates. */
  readonly portals: readonly string[];
  readonly iqn: string;
  readonly lun: string;
  readonly interface: string | undefined;
  /** The interface was made for this disk alone and goes with it. */
  readonly hasOwnInterface: boolean;
  /** Whether iscsi.json said so. The devices of a disk that only its folder describes are left to the logout, as upstream does. */
  readonly isRecorded: boolean;
}

/** From iscsi.json, or from the path of the disk's folder where that is missing or unreadable. */
export function attachedDisk(
  folder: string,
  iscsiFile: string | undefined,
): Result<AttachedDisk, StorageError> {
  const name = diskFolderName(folder);
  if (!name.ok) return name;
  const recorded = iscsiFile === undefined ? undefined : parseIscsiFile(iscsiFile);
  if (recorded !== undefined) {
    const { iqn, lun, interface: usedInterface, initiatorName, volumeName } = recorded;
    const portals = [...new Set(recorded.portals)].filter((portal) => portal !== "");
    const hasOwnInterface = initiatorName !== "" && usedInterface === `${portals[0]}:${volumeName}`;
    return ok({ portals, iqn, lun, interface: usedInterface, hasOwnInterface, isRecorded: true });
  }
  const parsed = portalAndIqn(name.value);
  if (!parsed.ok) return parsed;
  const { portal, iqn } = parsed.value;
  return ok({
    portals: portal === "" ? [] : [portal],
    iqn,
    // The name has a LUN: without one there is no IQN before it.
    lun: lunOf(name.value) ?? "",
    interface: interfaceOf(folder),
    hasOwnInterface: false,
    isRecorded: false,
  });
}
