import { podVolumeDirectory } from "../../../core/paths/data-paths.ts";
import { joinMountOptions, mountOptionsOf } from "../../../core/storage/mount-options.ts";
import { nfsPluginName, nfsSource } from "../../../core/storage/nfs-volume.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { volumeSpecName } from "../../../core/storage/volume-spec.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { ForeignFiles } from "../../../ports/foreign-files.ts";
import { fileSystemStats } from "../file-system-stats.ts";
import { cleanUpMountPoint, type MountPointDeps, undoMount } from "../mount-points.ts";
import type { StoragePlugin } from "../storage-plugin.ts";

export interface NfsPluginDeps extends MountPointDeps {
  readonly rootFolder: string;
  readonly foreignFiles: ForeignFiles;
}

/** A server that does not answer does not keep a pod from ending. */
const forceAfterMs = 60_000;

/** Exports of NFS servers, mounted for each pod. */
export function nfsPlugin(deps: NfsPluginDeps): StoragePlugin {
  const { rootFolder, files, mounts, foreignFiles } = deps;
  const folderOf = (podUid: PodUid, name: string): string =>
    podVolumeDirectory(rootFolder, podUid, { plugin: nfsPluginName, name });
  return {
    name: nfsPluginName,
    requiresRemount: () => false,

    setUp: async ({ spec, pod }, signal) => {
      const source = nfsSource(spec);
      if (source === undefined) return err(failed("Spec does not reference a NFS volume type"));
      const path = folderOf(pod.metadata.uid, volumeSpecName(spec));
      const volume = {
        path,
        readOnly: source.readOnly,
        managed: false,
        seLinuxRelabel: false,
      };
      if (await mounts.isMountPoint(path)) return ok(volume);
      await files.ensureFolder(path, 0o750);
      const options = joinMountOptions(mountOptionsOf(spec), source.readOnly ? ["ro"] : []);
      const mount = { source: source.export, target: path, fileSystem: "nfs", options };
      const mounted = await mounts.mount({ ...mount, withoutSystemd: true }, signal);
      if (mounted.ok) return ok(volume);
      await undoMount(deps, path, signal);
      return err(failed(mounted.error));
    },

    tearDown: async ({ podUid, volumeSpecName: name }, signal) =>
      asStorageResult(
        await cleanUpMountPoint(deps, folderOf(podUid, name), { forceAfterMs }, signal),
      ),

    stats: ({ spec, podUid }, signal) =>
      fileSystemStats(foreignFiles, folderOf(podUid, volumeSpecName(spec)), signal),

    // Only what cleaning up needs is known.
    reconstruct: async ({ volumeSpecName: name }) =>
      ok({ spec: { source: "inline", volume: { name, nfs: { server: "", path: name } } } }),
  };
}

function failed(message: string): StorageError {
  return { kind: "final", message };
}

function asStorageResult(result: Result<void, string>): Result<void, StorageError> {
  return result.ok ? result : err(failed(result.error));
}
