import { createHash } from "node:crypto";
import {
  checkpointsDirectory,
  escapePluginName,
  pluginDevicesDirectory,
  pluginDirectory,
  pluginRegistryDirectory,
  pluginsDirectory,
  podContainerDirectory,
  podDirectory,
  podPluginsDirectory,
  podResourcesDirectory,
  podSubPathsDirectory,
  podsDirectory,
  podVolumeDeviceDirectory,
  podVolumeDevicesDirectory,
  podVolumeDirectory,
  podVolumesDirectory,
  unescapePluginName,
} from "../../../src/core/paths/data-paths.ts";
import {
  csiAttachmentName,
  csiBlockDataDirectory,
} from "../../../src/core/storage/csi/csi-paths.ts";
import { persistentCsiSource } from "../../../src/core/storage/csi/csi-volume.ts";
import { formatVolumeData, volumeDataPath } from "../../../src/core/storage/csi/volume-data.ts";
import { findKindOf } from "../../../src/core/storage/kinds/find-kind.ts";
import type { PodPlace, VolumeKind } from "../../../src/core/storage/kinds/volume-kind.ts";
import { podSubPaths, podsOnDisk, podVolumePaths } from "../../../src/core/storage/pod-disk.ts";
import {
  podVolumeName,
  sharedVolumeName,
  splitVolumeName,
} from "../../../src/core/storage/volume-names.ts";
import { type VolumeSpec, volumeSpecName } from "../../../src/core/storage/volume-spec.ts";
import { joinPath } from "../../../src/lib/path.ts";
import type { Result } from "../../../src/lib/result.ts";
import type { PersistentVolume, Volume } from "../../../src/model/generated/kubernetes.ts";
import { podUid } from "../../../src/model/ids.ts";
import { type EncodedFile, GivenFiles } from "../given-files.ts";
import { type FoundVolumeInput, reconstructFound } from "../reconstruct-found.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface NamesInput {
  readonly kind: "names";
  readonly text?: string;
}

interface DirsInput {
  readonly kind: "dirs";
  readonly rootDir: string;
  readonly podUID: string;
  readonly plugin: string;
  readonly volumeName: string;
  readonly containerName: string;
}

interface PathsInput {
  readonly kind: "paths";
  readonly rootDir: string;
  readonly nodeName: string;
  readonly podUID: string;
  readonly volume?: Volume;
  readonly persistentVolume?: PersistentVolume;
  readonly readOnly?: boolean;
  readonly hostFileTypes?: Readonly<Record<string, string>>;
}

interface OnDiskInput {
  readonly kind: "onDisk";
  readonly rootDir: string;
  readonly podUID: string;
  readonly files: readonly EncodedFile[];
  readonly mounts?: readonly { readonly device: string; readonly path: string }[];
}

type Input =
  | NamesInput
  | DirsInput
  | PathsInput
  | OnDiskInput
  | ({ readonly kind: "reconstruct" } & FoundVolumeInput);

/**
 * The flex drivers that were found while the vectors were made. After the inline ones the process had no file watches left, so
 * that no driver was found any more.
 */
const flexDrivers = [
  { name: "example.com/lvm", attachable: false },
  { name: "vendor/att", attachable: true },
];

export const volumePaths: VectorDomain = vectorDomain<Input>("volume-paths", (input) => {
  switch (input.kind) {
    case "names":
      return names(input);
    case "dirs":
      return directories(input);
    case "paths":
      return paths(input);
    case "reconstruct":
      return reconstructFound(input);
    case "onDisk":
      return onDisk(input);
  }
});

function names({ text = "" }: NamesInput): object {
  const split = splitVolumeName(text);
  return {
    escaped: escapePluginName(text),
    unescaped: unescapePluginName(text),
    roundTrip: unescapePluginName(escapePluginName(text)),
    ...(split.ok
      ? { splitPlugin: split.value.plugin, splitVolume: split.value.volume }
      : { splitError: split.error }),
  };
}

function directories(input: DirsInput): object {
  const { rootDir: root, plugin, volumeName: name } = input;
  const uid = podUid(input.podUID);
  return {
    checkpointsDir: checkpointsDirectory(root),
    pluginDir: pluginDirectory(root, plugin),
    pluginsDir: pluginsDirectory(root),
    pluginsRegistrationDir: pluginRegistryDirectory(root),
    podContainerDir: podContainerDirectory(root, uid, input.containerName),
    podDir: podDirectory(root, uid),
    // Here the caller escapes the name, and the vectors' did not.
    podPluginDir: joinPath(podPluginsDirectory(root, uid), plugin),
    podPluginsDir: podPluginsDirectory(root, uid),
    podResourcesDir: podResourcesDirectory(root),
    podVolumeDeviceDir: podVolumeDeviceDirectory(root, uid, plugin),
    podVolumeDevicesDir: podVolumeDevicesDirectory(root, uid),
    podVolumeDir: podVolumeDirectory(root, uid, { plugin, name }),
    podVolumeSubpathsDir: podSubPathsDirectory(root, uid),
    podVolumesDir: podVolumesDirectory(root, uid),
    podsDir: podsDirectory(root),
    volumeDevicePluginDir: pluginDevicesDirectory(root, plugin),
  };
}

function paths(input: PathsInput): object {
  const spec = specOf(input);
  const found = findKindOf(spec, spec.source === "inline" ? flexDrivers : []);
  if (!found.ok) return { error: found.error.message };
  const kind = found.value;
  const uid = podUid(input.podUID);
  const place: PodPlace = {
    root: input.rootDir,
    podUid: uid,
    sha256,
    kindOfFile: (path) => fileKinds[input.hostFileTypes?.[path] ?? "Directory"],
  };
  const { attachable, deviceMountable } = kind.traits(spec, () => undefined);
  const volume = kind.podVolume(spec, place);
  return {
    plugin: kind.plugin,
    escapedPlugin: escapePluginName(kind.plugin),
    attachable,
    deviceMountable,
    ...shown("volumeName", kind.volumeName(spec), ""),
    ...shown("uniqueVolumeName", sharedVolumeName(kind, spec)),
    uniqueVolumeNameWithPod: podVolumeName(kind.plugin, uid, spec),
    ...(volume.ok ? shownVolume(volume.value) : { mounterError: volume.error.message }),
    ...(deviceMountable && kind.deviceMountPath !== undefined
      ? shown("deviceMountPath", kind.deviceMountPath(spec, place))
      : {}),
    ...blockPaths(kind, spec, place, input.nodeName),
  };
}

function specOf({ volume, persistentVolume, readOnly = false }: PathsInput): VolumeSpec {
  if (volume !== undefined) return { source: "inline", volume };
  if (persistentVolume === undefined) throw new Error("neither a volume nor a persistent volume");
  return { source: "persistentVolume", persistentVolume, readOnly };
}

const fileKinds: Readonly<Record<string, string>> = {
  Directory: "directory",
  BlockDevice: "block-device",
  CharDevice: "character-device",
  File: "file",
  Socket: "socket",
};

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function shown(
  name: string,
  result: Result<string, { readonly message: string }>,
  without?: string,
): object {
  return result.ok
    ? { [name]: result.value }
    : { [name]: without, [`${name}Error`]: result.error.message };
}

function shownVolume({ path, ...attributes }: { readonly path: string }): object {
  return { path, attributes };
}

function blockPaths(kind: VolumeKind, spec: VolumeSpec, place: PodPlace, nodeName: string): object {
  const { block, plugin } = kind;
  if (block === undefined) return {};
  const globalMapPath = block.globalMapPath(spec, place.root);
  if (!globalMapPath.ok) return { mapperError: globalMapPath.error.message };
  return {
    globalMapPath: globalMapPath.value,
    podDeviceMapPath: podVolumeDeviceDirectory(place.root, place.podUid, plugin),
    podDeviceName: volumeSpecName(spec),
    stagingPath: block.stagingPath?.(spec, place.root),
    files: recordedFiles(spec, place.root, nodeName),
  };
}

/** What is recorded about a block volume before it is mapped. */
function recordedFiles(spec: VolumeSpec, root: string, nodeName: string): readonly object[] {
  const source = persistentCsiSource(spec);
  if (source === undefined) return [];
  const { driver, volumeHandle } = source;
  const text = formatVolumeData({
    specVolID: volumeSpecName(spec),
    volumeHandle,
    driverName: driver,
    nodeName,
    attachmentID: csiAttachmentName({ handle: volumeHandle, driver, nodeName }, sha256),
  });
  const path = volumeDataPath(csiBlockDataDirectory(root, volumeSpecName(spec)));
  return [{ path: path.slice(root.length + 1), json: JSON.parse(text) as unknown }];
}

function onDisk({ rootDir: root, podUID, files, mounts = [] }: OnDiskInput): object {
  const uid = podUid(podUID);
  const given = new GivenFiles(files);
  const list = (path: string) => given.list(path);
  const volumes = podVolumePaths(root, uid, list);
  const subPaths = podSubPaths(root, uid, list);
  const isMounted = (path: string) => mounts.some((mount) => mount.path === path);
  return {
    pods: podsOnDisk(root, list),
    ...(subPaths.ok ? { subpaths: subPaths.value.toSorted() } : { subpathsError: subPaths.error }),
    ...(volumes.ok
      ? {
          volumePaths: volumes.value.toSorted(),
          mountedVolumePaths: volumes.value.filter(isMounted).toSorted(),
        }
      : { volumePathsError: volumes.error, mountedVolumePathsError: volumes.error }),
  };
}
