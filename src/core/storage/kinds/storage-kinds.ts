// The kinds that are storage of a host or a network, as volumes of pods or as persistent volumes.
import { ok, type Result } from "../../../lib/result.ts";
import type {
  FCVolumeSource,
  HostPathVolumeSource,
  NFSVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import {
  csiBlockStagingPath,
  csiDeviceMountPath,
  csiGlobalMapPath,
  csiMountPath,
} from "../csi/csi-paths.ts";
import {
  csiDriverName,
  csiPluginName,
  ephemeralCsiSource,
  persistentCsiSource,
} from "../csi/csi-volume.ts";
import { fcDeviceMountPath, fcGlobalMapPath, fcPluginName, fcVolume } from "../fc/fc-disk.ts";
import {
  iscsiDeviceMountPath,
  iscsiGlobalMapPath,
  iscsiPluginName,
  iscsiSource,
  iscsiVolume,
} from "../iscsi/iscsi-disk.ts";
import {
  localDeviceMountPath,
  localGlobalMapPath,
  localPath,
  localPluginName,
  localSource,
} from "../local-volume.ts";
import { nfsPluginName, nfsSource } from "../nfs-volume.ts";
import type { StorageError } from "../storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../volume-spec.ts";
import {
  failed,
  type NodePlace,
  ownedVolume,
  plainTraits,
  podVolumePath,
  type VolumeKind,
  volumeModeOf,
} from "./volume-kind.ts";

const hostPathPluginName = "kubernetes.io/host-path";

export const csiKind: VolumeKind = {
  plugin: csiPluginName,
  isOf: (spec) => csiDriverName(spec) !== undefined,
  volumeName(spec) {
    const source = persistentCsiSource(spec);
    if (source !== undefined) return ok(`${source.driver}^${source.volumeHandle}`);
    return failed(
      `${csiPluginName}: plugin.GetVolumeName failed to extract volume source from spec: ${ephemeralSourceText}`,
    );
  },
  traits(spec, findCsiDriver) {
    const isPersistent = persistentCsiSource(spec) !== undefined;
    const driver = findCsiDriver(csiDriverName(spec) ?? "")?.spec;
    return {
      attachable: isPersistent && driver?.attachRequired !== false,
      deviceMountable: isPersistent,
      requiresRemount: driver?.requiresRepublish === true,
      supportsMountOptions: true,
      supportsSeLinuxMount: driver?.seLinuxMount === true,
      isExpandable: true,
    };
  },
  podVolume(spec, { root, podUid }) {
    const path = csiMountPath(root, podUid, volumeSpecName(spec));
    const readOnly = spec.source === "inline" ? spec.volume.csi?.readOnly === true : spec.readOnly;
    return ok(ownedVolume(path, readOnly, false));
  },
  deviceMountPath: (spec, { root, sha256 }) => csiDeviceMountPath(root, spec, sha256),
  block: {
    globalMapPath(spec, root) {
      if (ephemeralCsiSource(spec) !== undefined) return failed(ephemeralSourceText);
      return ok(csiGlobalMapPath(root, volumeSpecName(spec)));
    },
    stagingPath: (spec, root) => csiBlockStagingPath(root, volumeSpecName(spec)),
  },
};

const ephemeralSourceText = "unexpected api.CSIVolumeSource found in volume.Spec";

/** Storage that a pod mounts from its node, without a device of its own. */
export const hostPathKind: VolumeKind = {
  plugin: hostPathPluginName,
  isOf: (spec) => hostPathSource(spec) !== undefined,
  volumeName: (spec) => ok(hostPathSource(spec)?.path ?? ""),
  traits: () => plainTraits,
  podVolume(spec) {
    const readOnly = spec.source === "persistentVolume" && spec.readOnly;
    const path = hostPathSource(spec)?.path ?? "";
    return ok({ path, readOnly, managed: false, seLinuxRelabel: false });
  },
  foundByName: (name) => ({ source: "inline", volume: { name, hostPath: { path: name } } }),
};

function hostPathSource(spec: VolumeSpec): HostPathVolumeSource | undefined {
  return spec.source === "inline" ? spec.volume.hostPath : spec.persistentVolume.spec?.hostPath;
}

export const nfsKind: VolumeKind = {
  plugin: nfsPluginName,
  isOf: (spec) => nfsSource(spec) !== undefined,
  volumeName(spec) {
    const { server = "", path = "" } = nfsField(spec) ?? {};
    return ok(`${server}/${path}`);
  },
  traits: () => ({ ...plainTraits, supportsMountOptions: true }),
  podVolume(spec, place) {
    const path = podVolumePath(nfsPluginName, spec, place);
    const readOnly = nfsSource(spec)?.readOnly === true;
    return ok({ path, readOnly, managed: false, seLinuxRelabel: false });
  },
  // Its server is not known; cleaning up does not need it.
  foundByName: (name) => ({
    source: "inline",
    volume: { name, nfs: { server: "", path: name } },
  }),
};

function nfsField(spec: VolumeSpec): NFSVolumeSource | undefined {
  return spec.source === "inline" ? spec.volume.nfs : spec.persistentVolume.spec?.nfs;
}

const diskTraits = {
  ...plainTraits,
  attachable: true,
  deviceMountable: true,
  supportsMountOptions: true,
  supportsSeLinuxMount: true,
};

export const iscsiKind: VolumeKind = {
  plugin: iscsiPluginName,
  isOf: (spec) => iscsiSource(spec) !== undefined,
  volumeName(spec) {
    const { targetPortal = "", iqn = "", lun = 0 } = iscsiSource(spec) ?? {};
    return ok(`${targetPortal}:${iqn}:${lun}`);
  },
  traits: () => diskTraits,
  podVolume(spec, place) {
    const volume = iscsiVolume(spec);
    if (!volume.ok) return volume;
    const path = podVolumePath(iscsiPluginName, spec, place);
    return ok(ownedVolume(path, volume.value.readOnly, true));
  },
  deviceMountPath(spec, { root }) {
    const volume = iscsiVolume(spec);
    if (!volume.ok) return volume;
    const mode = volumeModeOf(spec);
    return mode.ok ? ok(iscsiDeviceMountPath(root, volume.value.disk)) : mode;
  },
  block: {
    globalMapPath(spec, root) {
      const volume = iscsiVolume(spec);
      if (!volume.ok) return volume;
      return withMode(spec, iscsiGlobalMapPath(root, volume.value.disk));
    },
  },
};

export const fcKind: VolumeKind = {
  plugin: fcPluginName,
  isOf: (spec) => fcSource(spec) !== undefined,
  volumeName(spec) {
    const { targetWWNs = [], lun, wwids = [] } = fcSource(spec) ?? {};
    if (targetWWNs.length > 0 && lun !== undefined) return ok(`[${targetWWNs.join(" ")}]:${lun}`);
    return ok(wwids.length > 0 ? `[${wwids.join(" ")}]` : "");
  },
  traits: () => diskTraits,
  podVolume(spec, place) {
    const volume = fcVolume(spec, "mounter");
    if (!volume.ok) return volume;
    const mode = volumeModeOf(spec);
    if (!mode.ok) return mode;
    const path = podVolumePath(fcPluginName, spec, place);
    return ok(ownedVolume(path, volume.value.readOnly, true));
  },
  deviceMountPath(spec, { root }) {
    const volume = fcVolume(spec, "mounter");
    if (!volume.ok) return volume;
    const mode = volumeModeOf(spec);
    return mode.ok ? ok(fcDeviceMountPath(root, volume.value.disk)) : mode;
  },
  block: {
    globalMapPath(spec, root) {
      const volume = fcVolume(spec, "mapper");
      if (!volume.ok) return volume;
      return withMode(spec, fcGlobalMapPath(root, volume.value.disk));
    },
  },
};

function fcSource(spec: VolumeSpec): FCVolumeSource | undefined {
  return spec.source === "inline" ? spec.volume.fc : spec.persistentVolume.spec?.fc;
}

function withMode(spec: VolumeSpec, path: string): Result<string, StorageError> {
  const mode = volumeModeOf(spec);
  return mode.ok ? ok(path) : failed(`failed to get device path: ${mode.error.message}`);
}

export const localKind: VolumeKind = {
  plugin: localPluginName,
  isOf: (spec) =>
    spec.source === "persistentVolume" && spec.persistentVolume.spec?.local !== undefined,
  volumeName: (spec) => ok(volumeSpecName(spec)),
  traits: () => ({
    ...plainTraits,
    deviceMountable: true,
    supportsMountOptions: true,
    isExpandable: true,
  }),
  podVolume(spec, place) {
    const source = localDevicePath(spec, place);
    if (!source.ok) return source;
    const readOnly = spec.source === "persistentVolume" && spec.readOnly;
    return ok(ownedVolume(podVolumePath(localPluginName, spec, place), readOnly, true));
  },
  deviceMountPath: localDevicePath,
  block: {
    globalMapPath: (spec, root) => ok(localGlobalMapPath(root, volumeSpecName(spec))),
    stagingPath: () => "",
  },
};

function localDevicePath(
  spec: VolumeSpec,
  { root, kindOfFile }: NodePlace,
): Result<string, StorageError> {
  const path = localPath(spec);
  const source = localSource(path, kindOfFile(path));
  return source.ok ? ok(localDeviceMountPath(root, spec, source.value)) : failed(source.error);
}
