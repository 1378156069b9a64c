import { quoteText } from "../../lib/go-text.ts";
import { cleanPath, joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import {
  escapePluginName,
  pluginDevicesDirectory,
  pluginDirectory,
  podVolumeDeviceDirectory,
} from "../paths/data-paths.ts";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

export const localPluginName = "kubernetes.io/local-volume";

/** What a local volume is on the node: a folder to bind, or a disk to mount first. */
export interface LocalSource {
  readonly path: string;
  readonly kind: "folder" | "disk";
}

/** Where the disks of local volumes are mounted, by the names of the persistent volumes. */
export function localMountsFolder(root: string): string {
  return joinPath(pluginDirectory(root, localPluginName), "mounts");
}

/** The path that a local volume names; "" when it names none. */
export function localPath(spec: VolumeSpec): string {
  return spec.source === "inline" ? "" : (spec.persistentVolume.spec?.local?.path ?? "");
}

/** A local volume by what lies at its path; undefined = nothing does. */
export function localSource(path: string, kind: string | undefined): Result<LocalSource, string> {
  if (path === "") return err("local volume source is nil or local path is not set");
  if (kind === undefined) return err(`path ${quoteText(path)} does not exist`);
  if (kind === "directory") return ok({ path, kind: "folder" });
  if (kind === "block-device") return ok({ path, kind: "disk" });
  if (kind !== "other") return err("only directory and block device are supported");
  return err("only recognise file, directory, socket, block device and character device");
}

/** Where the files of a local volume are on the node, from which they are bound for each pod. */
export function localDeviceMountPath(
  root: string,
  spec: VolumeSpec,
  { path, kind }: LocalSource,
): string {
  return kind === "folder" ? path : joinPath(localMountsFolder(root), volumeSpecName(spec));
}

/** Where a local volume's raw device is linked: for the node, and in the pod's folder. @upstream */
export function localMapPaths(
  root: string,
  podUid: PodUid,
  volumeName: string,
): { readonly global: string; readonly pod: string } {
  return {
    global: localGlobalMapPath(root, volumeName),
    pod: podVolumeDeviceDirectory(root, podUid, localPluginName),
  };
}

/** Unlike those of other kinds, the plugin's name is escaped in this path. */
export function localGlobalMapPath(root: string, volumeName: string): string {
  return joinPath(pluginDevicesDirectory(root, escapePluginName(localPluginName)), volumeName);
}

/** A volume found on disk: only what cleaning up needs is known, the disk if it was one. */
export function foundLocalVolume(
  name: string,
  device: string,
  volumeMode: "Filesystem" | "Block",
): VolumeSpec {
  const spec = { local: { path: device }, volumeMode };
  return {
    source: "persistentVolume",
    persistentVolume: { metadata: { name }, spec },
    readOnly: false,
  };
}

/** A path without a root is taken from the node's root on. */
export function absolutePath(path: string): string {
  return cleanPath(`/${path}`);
}

/** A path that climbs could leave the folder that an administrator meant. */
export function climbingPathProblem(path: string): string | undefined {
  return path.split("/").includes("..") ? `invalid path: ${path} must not contain '..'` : undefined;
}
