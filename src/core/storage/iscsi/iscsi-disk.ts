import { joinPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type {
  ISCSIPersistentVolumeSource,
  ISCSIVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { pluginDevicesDirectory, pluginDirectory } from "../../paths/data-paths.ts";
import { folderNameProblem } from "../folder-name-problem.ts";
import type { StorageError } from "../storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../volume-spec.ts";

export const iscsiPluginName = "kubernetes.io/iscsi";

const defaultPort = 3260;

/** A disk as iscsiadm needs it, and as iscsi.json keeps it for the detach. */
export interface IscsiDisk {
  readonly volumeName: string;
  /** With ports; the first names the disk's folders. */
  readonly portals: readonly string[];
  readonly iqn: string;
  readonly lun: string;
  /** The interface as the volume names it. */
  readonly initialInterface: string;
  /** The one that is used: a clone of the initial one if the volume has an initiator name of its own. */
  readonly interface: string;
  readonly initiatorName: string;
}

/** What a volume says about its disk. */
export interface IscsiVolume {
  readonly disk: IscsiDisk;
  readonly readOnly: boolean;
  readonly fsType: string;
  readonly discoveryChap: boolean;
  readonly sessionChap: boolean;
}

export function iscsiVolume(spec: VolumeSpec): Result<IscsiVolume, StorageError> {
  const source = iscsiSource(spec);
  if (source === undefined) return notIscsi;
  const { targetPortal, portals = [], initiatorName = "", iscsiInterface = "" } = source;
  const names = {
    targetPortal: [targetPortal],
    portals,
    iqn: [source.iqn],
    iscsiInterface: [iscsiInterface],
  };
  const problem = folderNameProblem("iscsi", names);
  if (problem !== undefined) return err({ kind: "final", message: problem });
  const volumeName = volumeSpecName(spec);
  const firstPortal = withPort(targetPortal);
  return ok({
    disk: {
      volumeName,
      portals: [firstPortal, ...portals.map(withPort)],
      iqn: source.iqn,
      lun: String(source.lun),
      initialInterface: iscsiInterface,
      interface: initiatorName === "" ? iscsiInterface : `${firstPortal}:${volumeName}`,
      initiatorName,
    },
    readOnly: spec.source === "inline" ? source.readOnly === true : spec.readOnly,
    fsType: source.fsType ?? "",
    discoveryChap: source.chapAuthDiscovery === true,
    sessionChap: source.chapAuthSession === true,
  });
}

/** The secret with the CHAP credentials; undefined when the volume needs none or names none. */
export function chapSecret(
  spec: VolumeSpec,
  podNamespace: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const source = iscsiSource(spec);
  if (source?.chapAuthDiscovery !== true && source?.chapAuthSession !== true) return undefined;
  const {
    name = "",
    namespace = "",
  }: { name?: string | undefined; namespace?: string | undefined } = source.secretRef ?? {};
  const inNamespace = spec.source === "inline" || namespace === "" ? podNamespace : namespace;
  return name === "" || inNamespace === "" ? undefined : { namespace: inNamespace, name };
}

/** Where the node mounts the disk once: plugins/kubernetes.io/iscsi/iface-NAME/PORTAL-IQN-lun-LUN. */
export function iscsiDeviceMountPath(rootFolder: string, disk: IscsiDisk): string {
  return joinPath(pluginDirectory(rootFolder, iscsiPluginName), diskFolder(disk));
}

/** The folder of a disk that pods use as a block device. */
export function iscsiGlobalMapPath(rootFolder: string, disk: IscsiDisk): string {
  return joinPath(pluginDevicesDirectory(rootFolder, iscsiPluginName), diskFolder(disk));
}

const notIscsi = err<StorageError>({
  kind: "final",
  message: "Spec does not reference an ISCSI volume type",
});

export function iscsiSource(
  spec: VolumeSpec,
): ISCSIVolumeSource | ISCSIPersistentVolumeSource | undefined {
  return spec.source === "inline" ? spec.volume.iscsi : spec.persistentVolume.spec?.iscsi;
}

function withPort(portal: string): string {
  return portal.includes(":") ? portal : `${portal}:${defaultPort}`;
}

function diskFolder(disk: IscsiDisk): string {
  return `iface-${disk.interface}/${disk.portals[0]}-${disk.iqn}-lun-${disk.lun}`;
}
