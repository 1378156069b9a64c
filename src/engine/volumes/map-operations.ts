import type { MountedVolume } from "../../core/mount/container-mounts.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import { volumeMessage } from "../../core/storage/volume-messages.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { BlockMaps } from "./block-maps.ts";
import {
  completeMount,
  deviceChange,
  type MountDeps,
  type MountTarget,
  noteDeviceError,
  noteMountError,
  uncertainMount,
  whyNotMount,
} from "./mount-operations.ts";

export interface MapDeps extends MountDeps {
  readonly blockMaps: BlockMaps;
  readonly events: PodEvents;
}

/** A step that failed, and why. */
interface MapFailure {
  readonly prefix: string;
  readonly message: string;
}

/** A block volume: its device is staged once for the node, and linked into the pod's folder. */
export async function mapVolume(
  deps: MapDeps,
  target: MountTarget,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { states } = deps;
  const { uid, wanted } = target;
  const { volumeName: name } = wanted;
  const failed = ({ prefix, message }: MapFailure) =>
    err(volumeMessage(prefix, wanted, `: ${message}`));
  const refusal = whyNotMount(deps, target);
  if (refusal !== undefined) return failed({ ...refusal, prefix: mapPrefix(refusal.prefix) });
  const published = await publishDevice(deps, target, signal);
  if (!published.ok) return failed(published.error);
  const linked = await linkDevice(deps, target, published.value, signal);
  if (!linked.ok) {
    // The driver has published the device: whatever failed after that, it has to be taken back.
    noteMountError(states, target, { kind: "uncertain", message: linked.error.message });
    return failed(linked.error);
  }
  const volume = deviceOf(deps, target);
  const { stagingPath } = published.value;
  const expanded = await deps.expansion.duringMount(
    target,
    { devicePath: linked.value, deviceStagePath: stagingPath, deviceMountPath: "" },
    signal,
  );
  if (!expanded.ok) {
    states.setMount(uid, name, uncertainMount(states, target, volume));
    const prefix = "MapVolume.MarkVolumeAsMounted failed while expanding volume";
    return failed({ prefix, ...expanded.error });
  }
  states.setMount(uid, name, completeMount(target, volume));
  return ok(undefined);
}

interface PublishedDevice {
  readonly globalMapPath: string;
  /** As the driver or the attachment names it; empty when neither does. */
  readonly devicePath: string;
  readonly stagingPath: string;
}

async function publishDevice(
  { states, blockMaps }: MapDeps,
  target: MountTarget,
  signal: AbortSignal,
): Promise<Result<PublishedDevice, MapFailure>> {
  const { volumeName: name, spec, pod, attachable } = target.wanted;
  const { block, device } = target.plugin;
  const failed = (prefix: string, { message }: Pick<StorageError, "message">) =>
    err({ prefix, message });
  if (block === undefined) {
    const message = `${target.plugin.name} has no raw devices`;
    return failed("MapVolume.FindMapperPluginBySpec failed", { message });
  }
  const globalMapPath = blockMaps.globalPath(spec);
  if (!globalMapPath.ok) return failed("MapVolume.GetGlobalMapPath failed", globalMapPath.error);
  let devicePath = "";
  if (attachable && device !== undefined) {
    const attached = await device.waitForAttach({ spec, pod }, signal);
    if (!attached.ok) return failed("MapVolume.WaitForAttach failed", attached.error);
    devicePath = attached.value;
  }
  const paths = { name, devicePath, deviceMountPath: globalMapPath.value };
  let stagingPath = "";
  if (states.volume(name)?.device !== "mounted") {
    const mayBeThere = states.volume(name)?.device === "uncertain";
    const staged = await block.setUpDevice({ spec, pod, mayBeThere }, signal);
    if (!staged.ok) {
      noteDeviceError(states, paths, staged.error);
      return failed("MapVolume.SetUpDevice failed", staged.error);
    }
    stagingPath = staged.value;
  }
  states.changeVolume(name, deviceChange("mounted", devicePath, globalMapPath.value));
  const mayBeThere = states.pod(target.uid).mounts.has(name);
  const mapped = await block.mapPodDevice({ spec, pod, mayBeThere }, signal);
  if (!mapped.ok) {
    noteMountError(states, target, mapped.error);
    return failed("MapVolume.MapPodDevice failed", mapped.error);
  }
  const published = mapped.value === "" ? devicePath : mapped.value;
  return ok({ globalMapPath: globalMapPath.value, devicePath: published, stagingPath });
}

/** Binds the device below the global path, links it into the pod's folder, and holds it with a loop device. */
async function linkDevice(
  { states, blockMaps, events }: MapDeps,
  { uid, wanted }: MountTarget,
  { devicePath, globalMapPath }: PublishedDevice,
  signal: AbortSignal,
): Promise<Result<string, MapFailure>> {
  const { volumeName: name, spec, plugin, pod } = wanted;
  if (devicePath === "") {
    return err({ prefix: "MapVolume failed", message: "device path of the volume is empty" });
  }
  const device = await blockMaps.realPath(devicePath, signal);
  if (!device.ok) return err({ prefix: "MapVolume.EvalHostSymlinks failed", ...device.error });
  states.changeVolume(name, deviceChange("mounted", device.value, globalMapPath));
  const block = { uid, plugin, spec };
  const mapped = await blockMaps.map(block, device.value, signal);
  if (!mapped.ok) return err({ prefix: "MapVolume.MapBlockVolume failed", ...mapped.error });
  for (const suffix of [
    `globalMapPath "${globalMapPath}"`,
    `volumeMapPath "${blockMaps.podLink(block).folder}"`,
  ]) {
    const message = volumeMessage("MapVolume.MapPodDevice succeeded", wanted, suffix);
    events.record(pod, { type: "Normal", reason: "SuccessfulMountVolume", message });
  }
  return ok(device.value);
}

function deviceOf({ blockMaps }: MapDeps, { uid, wanted }: MountTarget): MountedVolume {
  const { plugin, spec, readOnly } = wanted;
  return {
    kind: plugin,
    path: blockMaps.podPath({ uid, plugin, spec }),
    readOnly,
    managed: false,
    selinuxRelabel: false,
    selinuxLabeled: false,
  };
}

function mapPrefix(prefix: string): string {
  return prefix === "MountVolume.SetUp failed"
    ? "MapVolume.SetUpDevice failed"
    : prefix.replace(/^Mount/, "Map");
}
