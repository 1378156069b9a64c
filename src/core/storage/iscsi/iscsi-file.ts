// iscsi.json, in which a kubelet and Berth keep a disk in its folder until the detach. Byte-compatible: either may read the other's.
import { jsonText } from "../../../lib/go-text.ts";
import { parseJsonText } from "../../../lib/json-text.ts";
import { joinPath } from "../../../lib/path.ts";
import type { IscsiDisk } from "./iscsi-disk.ts";

export const iscsiFileName = "iscsi.json";

export function iscsiFilePath(diskFolder: string): string {
  return joinPath(diskFolder, iscsiFileName);
}

export function iscsiFileText(disk: IscsiDisk): string {
  const fields = {
    VolName: disk.volumeName,
    Portals: disk.portals,
    Iqn: disk.iqn,
    Lun: disk.lun,
    InitIface: disk.initialInterface,
    Iface: disk.interface,
    InitiatorName: disk.initiatorName,
    MetricsProvider: null,
  };
  return `${jsonText(fields)}\n`;
}

/** Undefined when the text is not that of a disk. */
export function parseIscsiFile(text: string): IscsiDisk | undefined {
  const fields = parseObject(text);
  if (fields === undefined) return undefined;
  const portals = fields["Portals"] ?? [];
  if (!Array.isArray(portals) || !portals.every((portal) => typeof portal === "string")) {
    return undefined;
  }
  const [volumeName, iqn, lun, initialInterface, usedInterface, initiatorName] = textFields.map(
    (name) => fields[name] ?? "",
  );
  if (
    typeof volumeName !== "string" ||
    typeof iqn !== "string" ||
    typeof lun !== "string" ||
    typeof initialInterface !== "string" ||
    typeof usedInterface !== "string" ||
    typeof initiatorName !== "string"
  ) {
    return undefined;
  }
  return {
    volumeName,
    portals,
    iqn,
    lun,
    initialInterface,
    interface: usedInterface,
    initiatorName,
  };
}

const textFields = ["VolName", "Iqn", "Lun", "InitIface", "Iface", "InitiatorName"] as const;

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
