import type { IscsiDisk } from "./iscsi-disk.ts";

export const linksFolder = "/dev/disk/by-path";

/** The link by which udev shows a LUN: its whole name, or its two ends where the PCI address between them is unknown. */
export type DeviceLink =
  | { readonly name: string }
  | { readonly prefix: string; readonly suffix: string };

type Lun = Pick<IscsiDisk, "iqn" | "lun">;

/** A link has the address of a portal without the brackets of IPv6. Transports of adapters have the adapter's PCI address in it. */
export function deviceLink(portal: string, disk: Lun, transport: string): DeviceLink {
  const address = portal.startsWith("[") ? portal.replaceAll(/[[\]]/g, "") : portal;
  const lunName = `ip-${address}-iscsi-${disk.iqn}-lun-${disk.lun}`;
  return transport === "tcp" ? { name: lunName } : { prefix: "pci-", suffix: `-${lunName}` };
}

export function deviceLinkText(link: DeviceLink): string {
  const name = "name" in link ? link.name : `${link.prefix}*${link.suffix}`;
  return `${linksFolder}/${name}`;
}

/** The first of the names that the link can have. */
export function matchingLink(
  { prefix, suffix }: { readonly prefix: string; readonly suffix: string },
  names: readonly string[],
): string | undefined {
  return names.find(
    (name) =>
      name.startsWith(prefix) &&
      name.endsWith(suffix) &&
      name.length >= prefix.length + suffix.length,
  );
}

/** The link by which the detach of a block volume looks for its device: unlike the attach, with the brackets of IPv6, as upstream does. */
export function detachLinkPath(portal: string, iqn: string, lun: string): string {
  return `${linksFolder}/ip-${portal}-iscsi-${iqn}-lun-${lun}`;
}
