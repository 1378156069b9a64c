import { joinPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import {
  escapePluginName,
  pluginDevicesDirectory,
  pluginDirectory,
} from "../../paths/data-paths.ts";
import type { StorageError } from "../storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../volume-spec.ts";

export const localPluginName = "kubernetes.io/local-volume";

/** What a path of the host is, in the kubelet's words. */
export type HostFileType = "Directory" | "File" | "Socket" | "CharDevice" | "BlockDevice";

/** The path that a persistent volume names. */
export function localPath(spec: VolumeSpec): string | undefined {
  return spec.source === "persistentVolume" ? spec.persistentVolume.spec?.local?.path : undefined;
}

/** The folder below which devices of local volumes are mounted, by the names of the volumes. */
export function localMountsDirectory(root: string): string {
  return joinPath(pluginDirectory(root, localPluginName), "mounts");
}

/** Where the node has the volume: a folder is used where it is, a device is mounted. */
export function localDeviceMountPath(
  root: string,
  spec: VolumeSpec,
  hostFileType: (path: string) => Result<HostFileType, string>,
): Result<string, StorageError> {
  const path = localPath(spec) ?? "";
  if (path === "") return failed("local volume source is nil or local path is not set");
  const type = hostFileType(path);
  if (!type.ok) return failed(type.error);
  switch (type.value) {
    case "Directory":
      return ok(path);
    case "BlockDevice":
      return ok(joinPath(localMountsDirectory(root), volumeSpecName(spec)));
    default:
      return failed("only directory and block device are supported");
  }
}

/** Unlike those of other kinds, the plugin's name is escaped in this path. */
export function localGlobalMapPath(root: string, specName: string): string {
  return joinPath(pluginDevicesDirectory(root, escapePluginName(localPluginName)), specName);
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
