// The links by which udev shows the disks of a Fibre Channel network.
import type { FcDisk } from "./fc-disk.ts";

export const byPathFolder = "/dev/disk/by-path/";
export const byIdFolder = "/dev/disk/by-id/";

/** One way to find a disk. */
export interface FcLink {
  readonly folder: string;
  readonly matches: (name: string) => boolean;
}

/** The links of a disk in the order in which they are looked for. */
export function fcLinks({ targetWwns, lun, wwids }: FcDisk): readonly FcLink[] {
  if (targetWwns.length > 0) {
    return targetWwns.map((wwn) => ({
      folder: byPathFolder,
      matches: (name) => isLunLink(name, wwn, lun),
    }));
  }
  return wwids.map((wwid) => ({ folder: byIdFolder, matches: (name) => name === `scsi-${wwid}` }));
}

/** The link by which the detach finds the device of a block volume: any whose name contains that of the volume's folder. */
export function detachLink(folderName: string): FcLink {
  return {
    folder: folderName.includes("-lun-") ? byPathFolder : byIdFolder,
    matches: (name) => name.includes(folderName),
  };
}

/** fc-0xWWN-lun-LUN, with the PCI address of the adapter before it or not. */
function isLunLink(name: string, wwn: string, lun: string): boolean {
  const suffix = `-0x${wwn}-lun-${lun}`;
  if (!name.endsWith(suffix)) return false;
  const adapter = name.slice(0, -suffix.length);
  return adapter === "fc" || (/^pci-.*-fc$/.test(adapter) && !adapter.includes("\n"));
}
