import { pluginDevicesDirectory, pluginDirectory } from "../../src/core/paths/data-paths.ts";
import { csiBlockDataDirectory } from "../../src/core/storage/csi/csi-paths.ts";
import { csiPluginName } from "../../src/core/storage/csi/csi-volume.ts";
import {
  type ReconstructedVolume,
  reconstructCsiBlockVolume,
  reconstructCsiVolume,
  volumeDataPath,
} from "../../src/core/storage/csi/volume-data.ts";
import { fcPluginName } from "../../src/core/storage/fc/fc-disk.ts";
import {
  reconstructFcBlockVolume,
  reconstructFcVolume,
} from "../../src/core/storage/fc/reconstruct-fc.ts";
import { iscsiPluginName } from "../../src/core/storage/iscsi/iscsi-disk.ts";
import {
  reconstructIscsiBlockVolume,
  reconstructIscsiVolume,
} from "../../src/core/storage/iscsi/reconstruct-iscsi.ts";
import { findKindByName } from "../../src/core/storage/kinds/find-kind.ts";
import type { VolumeKind } from "../../src/core/storage/kinds/volume-kind.ts";
import {
  foundLocalVolume,
  localMountsFolder,
  localPluginName,
} from "../../src/core/storage/local-volume.ts";
import type { StorageError } from "../../src/core/storage/storage-error.ts";
import { uniqueVolumeName } from "../../src/core/storage/volume-names.ts";
import { type VolumeSpec, volumeSpecName } from "../../src/core/storage/volume-spec.ts";
import { isPathWithin } from "../../src/lib/path-within.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import { podUid } from "../../src/model/ids.ts";
import { type EncodedFile, GivenFiles } from "./given-files.ts";

export interface FoundVolumeInput {
  readonly rootDir: string;
  readonly podUID: string;
  readonly plugin: string;
  readonly volumeName: string;
  /** The pod's folder of the volume, or its link to the block device. */
  readonly path: string;
  readonly block?: boolean;
  readonly files?: readonly EncodedFile[];
  readonly mounts?: readonly { readonly device: string; readonly path: string }[];
}

type Found = Result<ReconstructedVolume | undefined, Pick<StorageError, "message">>;

/** What a volume was, from what the vector says is on disk. */
export function reconstructFound(input: FoundVolumeInput): object {
  const kind = findKindByName(input.plugin, []);
  if (!kind.ok) return { error: kind.error.message };
  const isBlock = input.block === true;
  if (isBlock && kind.value.block === undefined) return { noBlockSupport: true };
  const found = isBlock ? reconstructBlock(input) : reconstruct(input, kind.value);
  if (!found.ok) return { error: found.error.message };
  if (found.value === undefined) return { seLinuxMountContext: "", spec: null };
  const { spec, seLinuxMountContext } = found.value;
  const traits = kind.value.traits(spec, () => undefined);
  const name = uniqueVolumeName({ kind: kind.value, traits }, spec, podUid(input.podUID));
  return {
    spec: encodeSpec(spec),
    uniqueVolumeName: name.ok ? name.value : undefined,
    ...(isBlock ? {} : { seLinuxMountContext }),
  };
}

function reconstruct(input: FoundVolumeInput, kind: VolumeKind): Found {
  const { path, volumeName: name, rootDir: root } = input;
  switch (input.plugin) {
    case csiPluginName:
      return reconstructCsiVolume(path, filesOf(input).read(volumeDataPath(path)));
    case iscsiPluginName: {
      const mountPath = deviceMountPath(input);
      return mountPath.ok
        ? withoutContext(reconstructIscsiVolume(name, mountPath.value))
        : mountPath;
    }
    case fcPluginName: {
      const mountPath = deviceMountPath(input);
      return mountPath.ok ? withoutContext(reconstructFcVolume(name, mountPath.value)) : mountPath;
    }
    case localPluginName: {
      const folder = localMountsFolder(root);
      const mounted = references(input).find((reference) => isPathWithin(reference, folder));
      const device = input.mounts?.find((mount) => mount.path === mounted)?.device ?? "";
      return withoutContext(ok(foundLocalVolume(name, device, "Filesystem")));
    }
    default:
      return kind.foundByName === undefined
        ? ok(undefined)
        : withoutContext(ok(kind.foundByName(name)));
  }
}

function reconstructBlock(input: FoundVolumeInput): Found {
  const { path, volumeName: name, rootDir: root } = input;
  switch (input.plugin) {
    case csiPluginName: {
      const dataFolder = csiBlockDataDirectory(root, name);
      const file = filesOf(input).read(volumeDataPath(dataFolder));
      return reconstructCsiBlockVolume({ mapPath: path, dataFolder }, file);
    }
    case iscsiPluginName:
      return withoutContext(reconstructIscsiBlockVolume(name, globalMapPath(input)));
    case fcPluginName:
      return withoutContext(reconstructFcBlockVolume(name, globalMapPath(input)));
    default:
      return withoutContext(ok(foundLocalVolume(name, "", "Block")));
  }
}

function withoutContext(spec: Result<VolumeSpec, StorageError>): Found {
  return spec.ok ? ok({ spec: spec.value, seLinuxMountContext: "" }) : spec;
}

function filesOf({ files = [] }: FoundVolumeInput): GivenFiles {
  return new GivenFiles(files);
}

/** Where else the same device is mounted. */
function references({ path, mounts = [] }: FoundVolumeInput): readonly string[] {
  const device = mounts.find((mount) => mount.path === path)?.device;
  return mounts
    .filter((mount) => mount.device === device && mount.path !== path)
    .map((mount) => mount.path);
}

/** Where the node mounted the device that the pod's folder shows. */
function deviceMountPath(input: FoundVolumeInput): Result<string, { readonly message: string }> {
  const folder = pluginDirectory(input.rootDir, input.plugin);
  const path = references(input).find((reference) => reference.includes(folder));
  return path === undefined
    ? err({ message: "couldn't fetch globalPDPath. failed to obtain volume spec" })
    : ok(path);
}

/** The folder of the pod's device; "." when there is none. */
function globalMapPath(input: FoundVolumeInput): string {
  const { rootDir, plugin, podUID, path } = input;
  const folder = pluginDevicesDirectory(rootDir, plugin);
  const device = filesOf(input).findDevice(folder, podUID, path);
  return device === undefined ? "." : device.slice(0, device.lastIndexOf("/"));
}

function encodeSpec(spec: VolumeSpec): object {
  const name = volumeSpecName(spec);
  if (spec.source === "persistentVolume") {
    return { name, readOnly: spec.readOnly, persistentVolumeSpec: spec.persistentVolume.spec };
  }
  const { iscsi } = spec.volume;
  // The vectors leave an empty interface out.
  const isDefault = iscsi !== undefined && (iscsi.iscsiInterface ?? "") === "";
  const volume = isDefault
    ? { ...spec.volume, iscsi: { ...iscsi, iscsiInterface: undefined } }
    : spec.volume;
  return { name, readOnly: false, volume };
}
