import { podSubPathsDirectory } from "../../core/paths/data-paths.ts";
import { mountReferences } from "../../core/storage/mount-references.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import { volumeMessage } from "../../core/storage/volume-messages.ts";
import { volumeSpecName } from "../../core/storage/volume-spec.ts";
import { foundMount, type NodeVolume, type PodMount } from "../../core/storage/volume-state.ts";
import { errorText } from "../../lib/error-text.ts";
import { isPathWithin } from "../../lib/path-within.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { BlockMaps } from "./block-maps.ts";
import type { StoragePlugin } from "./storage-plugin.ts";
import { removeWithMounts } from "./tear-down.ts";
import type { VolumeStates } from "./volume-states.ts";

export interface UnmountDeps {
  readonly states: VolumeStates;
  readonly blockMaps: BlockMaps;
  /** The agent's data folder. */
  readonly rootFolder: string;
  readonly mounts: Mounts;
  readonly foreignFiles: ForeignFiles;
}

/** Something that is mounted for a pod, or may be. */
export interface UnmountTarget {
  readonly uid: PodUid;
  readonly name: string;
  readonly mount: PodMount;
  readonly plugin: StoragePlugin;
}

export async function unmountVolume(
  deps: UnmountDeps,
  { uid, name, mount, plugin }: UnmountTarget,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { states } = deps;
  const specName = volumeSpecName(mount.spec);
  const cleaned = await cleanSubPaths(deps, uid, specName, signal);
  if (!cleaned.ok) return failed("error cleaning subPath mounts", mount, cleaned.error);
  const target = { podUid: uid, volumeSpecName: specName };
  // All but the last step may have been done before: nothing is left that says how to do it again.
  const isDone = (await plugin.isTakenDown?.(target)) === true;
  const done = isDone ? ok(undefined) : await plugin.tearDown(target, signal);
  if (done.ok) {
    states.removeMount(uid, name);
    return done;
  }
  states.setMount(uid, name, { ...mount, state: "uncertain", isRemountDue: false });
  return failed("UnmountVolume.TearDown failed", mount, done.error);
}

/** What containers of the pod were given of the volume has to go first: it is mounted from inside the volume. */
async function cleanSubPaths(
  deps: Pick<UnmountDeps, "rootFolder" | "mounts" | "foreignFiles">,
  uid: PodUid,
  specName: string,
  signal: AbortSignal,
): Promise<Result<void, Pick<StorageError, "message">>> {
  try {
    const folder = `${podSubPathsDirectory(deps.rootFolder, uid)}/${specName}`;
    await removeWithMounts(deps, folder, signal);
    return ok(undefined);
  } catch (error) {
    signal.throwIfAborted();
    return err({ message: errorText(error) });
  }
}

export async function unmapVolume(
  { states, blockMaps }: UnmountDeps,
  { uid, name, mount, plugin }: UnmountTarget,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { spec } = mount;
  // Taking away the links and mounts of a device has several steps: from the first on it is no longer all there.
  states.setMount(uid, name, { ...mount, state: "uncertain", isRemountDue: false });
  const unmapped = await blockMaps.unmap({ uid, plugin: mount.plugin, spec }, signal);
  if (!unmapped.ok) return failed("UnmapVolume.UnmapBlockVolume failed", mount, unmapped.error);
  const target = { podUid: uid, volumeSpecName: volumeSpecName(spec) };
  const done = await plugin.block?.unmapPodDevice(target, signal);
  if (done?.ok === false) return failed("UnmapVolume.UnmapPodDevice failed", mount, done.error);
  states.removeMount(uid, name);
  const { unmappedFor = [] } = states.volume(name) ?? {};
  states.changeVolume(name, { unmappedFor: new Set([...unmappedFor, uid]) });
  return ok(undefined);
}

export async function unmountDevice(
  deps: UnmountDeps,
  volume: NodeVolume,
  { device: storage }: StoragePlugin,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { states } = deps;
  const { name, spec } = volume;
  if (storage === undefined) return ok(undefined);
  const path = await storage.mountPath(spec, signal);
  const deviceMountPath = path.ok ? path.value : volume.deviceMountPath;
  const others = await otherMounts(deps, deviceMountPath);
  if (others.length > 0) {
    const message = `the device mount path "${deviceMountPath}" is still mounted by other references [${others.join(" ")}]`;
    return failed("GetDeviceMountRefs check failed", volume, { message });
  }
  const done = await storage.unmountDevice(deviceMountPath, signal);
  if (!done.ok) {
    states.changeVolume(name, { device: "uncertain", deviceMountPath });
    return failed("UnmountDevice failed", volume, done.error);
  }
  const held = await whyHeld(deps, volume, signal);
  if (held !== undefined) {
    states.changeVolume(name, { device: "uncertain", deviceMountPath });
    return failed("UnmountDevice failed", volume, held);
  }
  states.changeVolume(name, { device: "not-mounted", deviceMountPath: "" });
  return ok(undefined);
}

/** A device that something still holds must not be detached. */
async function whyHeld(
  { foreignFiles }: UnmountDeps,
  { devicePath }: NodeVolume,
  signal: AbortSignal,
): Promise<{ readonly message: string } | undefined> {
  if (!devicePath.startsWith("/")) return undefined;
  try {
    if (!(await foreignFiles.isDeviceHeld(devicePath, signal))) return undefined;
    return { message: "the device is in use when it was no longer expected to be in use" };
  } catch (error) {
    signal.throwIfAborted();
    return { message: errorText(error) };
  }
}

/** Where else the device is mounted: as long as it is, what uses it there would lose it. */
async function otherMounts(
  { mounts }: UnmountDeps,
  deviceMountPath: string,
): Promise<readonly string[]> {
  const references = mountReferences(await mounts.list(), deviceMountPath);
  if (!references.ok) return [];
  return references.value.filter((other) => !isPathWithin(other, deviceMountPath));
}

export async function unmapDevice(
  deps: UnmountDeps,
  volume: NodeVolume,
  { block }: StoragePlugin,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { states, blockMaps } = deps;
  const { name, spec, devicePath, deviceMountPath: globalMapPath } = volume;
  const users = await blockMaps.users(globalMapPath);
  if (users.length > 0) {
    const message = `the device "${globalMapPath}" is still referenced from other Pods [${users.join(" ")}]`;
    return failed("UnmapDevice failed", volume, { message });
  }
  const late = await lateUsers(states, volume, block);
  if (late.length > 0) {
    const message = `the device "${globalMapPath}" was published for other Pods [${late.join(" ")}]`;
    return failed("UnmapDevice failed", volume, { message });
  }
  states.changeVolume(name, { device: "uncertain" });
  const target = {
    podUid: podUid(""),
    volumeSpecName: volumeSpecName(spec),
    globalMapPath,
    devicePath,
  };
  const done = await block?.tearDownDevice(target, signal);
  if (done?.ok === false) return failed("UnmapDevice.TearDownDevice failed", volume, done.error);
  const removed = await blockMaps.removeGlobal(globalMapPath, signal);
  if (!removed.ok) return failed("UnmapDevice.RemoveMapPath failed", volume, removed.error);
  const held = await whyHeld(deps, volume, signal);
  if (held !== undefined) return failed("UnmapDevice failed", volume, held);
  states.changeVolume(name, { device: "not-mounted", deviceMountPath: "" });
  return ok(undefined);
}

/** The driver may have published the device after the agent that asked for it was gone. It is taken away from those pods first. */
async function lateUsers(
  states: VolumeStates,
  { name, spec, plugin, unmappedFor }: NodeVolume,
  block: StoragePlugin["block"],
): Promise<readonly PodUid[]> {
  const published = (await block?.publishedFor?.(volumeSpecName(spec))) ?? [];
  const late = published.filter((uid) => unmappedFor?.has(uid) !== true);
  for (const uid of late) {
    states.setMount(uid, name, foundMount(spec, plugin));
    if (states.pod(uid).asked === undefined) states.setPod(uid, { asked: "unmount" });
  }
  return late;
}

function failed(
  prefix: string,
  volume: Pick<NodeVolume, "spec">,
  { message }: Pick<StorageError, "message">,
): Result<never, string> {
  return err(volumeMessage(prefix, volume, `: ${message}`));
}
