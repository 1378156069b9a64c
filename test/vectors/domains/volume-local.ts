import { podVolumeDirectory } from "../../../src/core/paths/data-paths.ts";
import { localMapPaths, localPluginName } from "../../../src/core/storage/local-volume.ts";
import { volumeNodeAffinityProblem } from "../../../src/core/storage/volume-node-affinity.ts";
import { volumeSpecName } from "../../../src/core/storage/volume-spec.ts";
import { localPlugin } from "../../../src/engine/volumes/local/local-plugin.ts";
import type { StoragePlugin } from "../../../src/engine/volumes/storage-plugin.ts";
import { mustParseQuantity } from "../../../src/model/quantity.ts";
import {
  errorReport,
  kubeletRoot,
  type StoragePluginInput,
  StoragePluginWorld,
  setUpReport,
  withoutFailedVolumes,
} from "../storage-plugin-world.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Op =
  | "nodeAffinity"
  | "mountDevice"
  | "setUp"
  | "tearDown"
  | "unmountDevice"
  | "mapDevice"
  | "tearDownDevice"
  | "expand";

interface LocalInput extends StoragePluginInput {
  readonly steps: readonly { readonly op: Op; readonly newSize?: string }[];
}

type Step = LocalInput["steps"][number];

const never = new AbortController().signal;

export const volumeLocal: VectorDomain = vectorDomain<LocalInput>(
  "volume-local",
  async (input) => {
    const world = new StoragePluginWorld(input);
    const plugin = localPlugin({ ...world.ports, rootFolder: kubeletRoot });
    const steps: unknown[] = [];
    for (const step of input.steps) {
      const report = await world.clock.run(runStep(world, plugin, input, step));
      steps.push({ ...world.takeStep(), ...report });
    }
    return { steps };
  },
  withoutFailedVolumes,
);

async function runStep(
  world: StoragePluginWorld,
  plugin: StoragePlugin,
  input: LocalInput,
  { op, newSize = "0" }: Step,
): Promise<object> {
  const { spec, target } = world;
  const { device, block } = plugin;
  if (device === undefined || block === undefined) throw new Error("local volumes are devices");
  switch (op) {
    case "nodeAffinity": {
      const { persistentVolume = {}, nodeLabels = {} } = input;
      return { error: volumeNodeAffinityProblem(persistentVolume, nodeLabels) };
    }
    case "mountDevice": {
      const path = await device.mountPath(spec, never);
      if (!path.ok) return { deviceMountPath: "", ...errorReport(path) };
      const deviceMountPath = path.value;
      const mounted = await device.mountDevice(world.podVolume({ deviceMountPath }), never);
      return { deviceMountPath, ...errorReport(mounted) };
    }
    case "unmountDevice": {
      const path = await device.mountPath(spec, never);
      return errorReport(path.ok ? await device.unmountDevice(path.value, never) : path);
    }
    case "setUp":
      return setUpReport(world, await plugin.setUp(world.podVolume({}), never));
    case "tearDown":
      return errorReport(await plugin.tearDown(target, never));
    case "mapDevice": {
      const staged = await block.setUpDevice(world.podVolume({}), never);
      const mapped = await block.mapPodDevice(world.podVolume({}), never);
      const paths = localMapPaths(kubeletRoot, target.podUid, volumeSpecName(spec));
      return {
        setUpDevice: staged.ok ? staged.value : staged.error.message,
        mapPodDevice: mapped.ok ? mapped.value : mapped.error.message,
        globalMapPath: paths.global,
        podDeviceMapPath: paths.pod,
        podDeviceName: volumeSpecName(spec),
      };
    }
    case "tearDownDevice": {
      const paths = localMapPaths(kubeletRoot, target.podUid, volumeSpecName(spec));
      const device = { ...target, globalMapPath: paths.global, devicePath: "" };
      return { ...errorReport(await block.tearDownDevice(device, never)), noCustomUnmapper: true };
    }
    case "expand": {
      // The vectors name the pod's folder as the place where the file system is mounted.
      const deviceMountPath = podVolumeDirectory(kubeletRoot, target.podUid, {
        plugin: localPluginName,
        name: target.volumeSpecName,
      });
      const size = mustParseQuantity(newSize);
      const paths = { devicePath: "", deviceMountPath, deviceStagePath: "" };
      const expanded = await plugin.expand?.({ spec, newSize: size, ...paths }, never);
      if (expanded === undefined) throw new Error("local volumes can grow");
      return { ...errorReport(expanded), expanded: expanded.ok, requiresFSResize: true };
    }
  }
}
