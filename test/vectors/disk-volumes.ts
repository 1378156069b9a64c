import { podVolumeDeviceDirectory } from "../../src/core/paths/data-paths.ts";
import type { VolumeKind } from "../../src/core/storage/kinds/volume-kind.ts";
import type { StorageError } from "../../src/core/storage/storage-error.ts";
import type { VolumeSpec } from "../../src/core/storage/volume-spec.ts";
import type { DiskVolumeDeps } from "../../src/engine/volumes/disk-volume.ts";
import type { StoragePlugin, StorageResult } from "../../src/engine/volumes/storage-plugin.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import type { Secret } from "../../src/model/generated/kubernetes.ts";
import type { CsiObjects } from "../../src/ports/csi-objects.ts";
import { memoryDevices } from "./device-tree.ts";
import {
  errorReport,
  kubeletRoot,
  type StoragePluginInput,
  type StoragePluginWorld,
  setUpReport,
} from "./storage-plugin-world.ts";

export interface DiskVolumeInput extends StoragePluginInput {
  readonly secrets?: readonly Secret[];
  readonly steps: readonly DiskStep[];
}

interface DiskStep {
  readonly op:
    | "waitForAttach"
    | "mountDevice"
    | "setUp"
    | "tearDown"
    | "unmountDevice"
    | "mapDevice"
    | "tearDownDevice";
  readonly devicePath?: string;
  readonly seLinuxLabel?: string;
}

type MapPath = () => StorageResult<string>;

const never = new AbortController().signal;

export function diskVolumeDeps(world: StoragePluginWorld): DiskVolumeDeps {
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const devices = memoryDevices(world.tree);
  return { ...world.ports, rootFolder: kubeletRoot, devices, log };
}

/** The folder of a block volume. */
export function diskMapPath({ block }: VolumeKind, spec: VolumeSpec): Result<string, StorageError> {
  if (block === undefined) throw new Error("disks have raw devices");
  return block.globalMapPath(spec, kubeletRoot);
}

/** Does the steps one after the other, whatever became of the one before. */
export async function runDiskSteps(
  world: StoragePluginWorld,
  plugin: StoragePlugin,
  { steps }: DiskVolumeInput,
  mapPath: MapPath,
): Promise<unknown> {
  const reports: unknown[] = [];
  for (const step of steps) {
    const report = await world.clock.run(runStep(world, plugin, step, mapPath));
    reports.push({ ...world.takeStep(), ...report });
  }
  return { steps: reports };
}

async function runStep(
  world: StoragePluginWorld,
  plugin: StoragePlugin,
  step: DiskStep,
  mapPath: MapPath,
): Promise<object> {
  const { spec, target } = world;
  const { device, block } = plugin;
  if (device === undefined || block === undefined) throw new Error("disks are devices");
  switch (step.op) {
    case "waitForAttach": {
      const attached = await device.waitForAttach(world.podVolume(step), never);
      return { devicePath: attached.ok ? attached.value : "", ...errorReport(attached) };
    }
    case "mountDevice": {
      const path = await device.mountPath(spec, never);
      if (!path.ok) return { deviceMountPath: "", ...errorReport(path) };
      const deviceMountPath = path.value;
      const request = world.podVolume({ ...step, deviceMountPath });
      const mounted = await device.mountDevice(request, never);
      const filesystemMismatch = (!mounted.ok && mounted.error.isFileSystemMismatch) || undefined;
      return { deviceMountPath, filesystemMismatch, ...errorReport(mounted) };
    }
    case "setUp":
      return setUpReport(world, await plugin.setUp(world.podVolume(step), never));
    case "tearDown":
      return errorReport(await plugin.tearDown(target, never));
    case "unmountDevice": {
      const path = await device.mountPath(spec, never);
      return errorReport(path.ok ? await device.unmountDevice(path.value, never) : path);
    }
    case "mapDevice": {
      const path = await mapPath();
      if (!path.ok) return errorReport(path);
      const podDeviceMapPath = podVolumeDeviceDirectory(kubeletRoot, target.podUid, plugin.name);
      return { globalMapPath: path.value, podDeviceMapPath, podDeviceName: target.volumeSpecName };
    }
    case "tearDownDevice": {
      const path = await mapPath();
      if (!path.ok) return errorReport(path);
      const { devicePath = "" } = step;
      const blockTarget = { ...target, globalMapPath: path.value, devicePath };
      return errorReport(await block.tearDownDevice(blockTarget, never));
    }
  }
}

export function secretReader(secrets: readonly Secret[]): Pick<CsiObjects, "secret"> {
  return {
    secret: async (namespace, name) => {
      const found = secrets.find(
        ({ metadata }) => metadata?.name === name && metadata.namespace === namespace,
      );
      if (found !== undefined) return ok(found);
      return err({ code: "not-found", message: `secrets "${name}" not found` });
    },
  };
}

function ignore(): void {
  // These vectors have no log.
}
