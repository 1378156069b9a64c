import { podVolumeDeviceDirectory } from "../../core/paths/data-paths.ts";
import { findKindOf } from "../../core/storage/kinds/find-kind.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../core/storage/volume-spec.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import {
  type BlockMapDeps,
  mapBlockDevice,
  removeMapPath,
  unmapBlockDevice,
} from "./map-block-device.ts";

type MapFailure = Pick<StorageError, "message">;

/** A block volume of one pod. */
export interface BlockMapTarget {
  readonly uid: PodUid;
  readonly plugin: string;
  readonly spec: VolumeSpec;
}

export interface BlockMapsDeps extends BlockMapDeps {
  /** The agent's data folder. */
  readonly rootFolder: string;
}

/** Where raw devices are held for pods: bound below a path of the volume, and linked in the folder of the pod. */
export class BlockMaps {
  readonly #deps: BlockMapsDeps;

  constructor(deps: BlockMapsDeps) {
    this.#deps = deps;
  }

  globalPath(spec: VolumeSpec): Result<string, MapFailure> {
    const kind = findKindOf(spec, []);
    if (!kind.ok) return kind;
    const path = kind.value.block?.globalMapPath(spec, this.#deps.rootFolder);
    return path ?? err({ message: `${kind.value.plugin} has no raw devices` });
  }

  /** Empty for a plugin that does not stage. */
  stagingPath(spec: VolumeSpec): string {
    const kind = findKindOf(spec, []);
    return (kind.ok ? kind.value.block?.stagingPath?.(spec, this.#deps.rootFolder) : "") ?? "";
  }

  /** The folder of the pod's links, and the name of this one. */
  podLink({ uid, plugin, spec }: BlockMapTarget): {
    readonly folder: string;
    readonly name: string;
  } {
    const folder = podVolumeDeviceDirectory(this.#deps.rootFolder, uid, plugin);
    return { folder, name: volumeSpecName(spec) };
  }

  /** Where the containers' device is on the node. */
  podPath(target: BlockMapTarget): string {
    const { folder, name } = this.podLink(target);
    return joinPath(folder, name);
  }

  async realPath(path: string, signal: AbortSignal): Promise<Result<string, MapFailure>> {
    try {
      const real = await this.#deps.foreignFiles.realPath(path, signal);
      if (real !== undefined) return ok(real);
      return err({ message: `lstat ${path}: no such file or directory` });
    } catch (error) {
      signal.throwIfAborted();
      return err({ message: errorText(error) });
    }
  }

  map(
    target: BlockMapTarget,
    devicePath: string,
    signal: AbortSignal,
  ): Promise<Result<void, MapFailure>> {
    return this.#changeMap(target, (map) => mapBlockDevice(this.#deps, map, devicePath, signal));
  }

  unmap(target: BlockMapTarget, signal: AbortSignal): Promise<Result<void, MapFailure>> {
    return this.#changeMap(target, (map) => unmapBlockDevice(this.#deps, map, signal));
  }

  /** The pods that still hold the device. */
  users(globalPath: string): Promise<readonly string[]> {
    return this.#deps.devices.deviceNodes(globalPath);
  }

  async removeGlobal(globalPath: string, signal: AbortSignal): Promise<Result<void, MapFailure>> {
    const removed = await removeMapPath(this.#deps, globalPath, signal);
    return removed.ok ? removed : err({ message: removed.error });
  }

  async #changeMap(
    target: BlockMapTarget,
    change: (map: Parameters<typeof unmapBlockDevice>[1]) => Promise<Result<void, string>>,
  ): Promise<Result<void, MapFailure>> {
    const global = this.globalPath(target.spec);
    if (!global.ok) return global;
    const { folder, name } = this.podLink(target);
    const done = await change({
      podUid: target.uid,
      globalMapPath: global.value,
      podMapPath: folder,
      name,
    });
    return done.ok ? done : err({ message: done.error });
  }
}
