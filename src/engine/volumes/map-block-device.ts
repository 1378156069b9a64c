// Where a block device is on the node: bound below a path of all pods that use it, linked into the pod's folder, and held by
// a loop device, so that no other device can take its name while it is mapped. The same for all plugins.
import { errorText } from "../../lib/error-text.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import type { BlockDevices } from "../../ports/block-devices.ts";
import type { Commands } from "../../ports/commands.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Mounts } from "../../ports/mounts.ts";

export interface BlockMapDeps {
  readonly devices: BlockDevices;
  readonly files: HostFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly commands: Commands;
}

/** Where a device is mapped for one pod. */
export interface BlockMap {
  readonly podUid: PodUid;
  /** The folder with one entry for each pod that uses the device. */
  readonly globalMapPath: string;
  /** The folder of the links of the pod. */
  readonly podMapPath: string;
  /** The name of the pod's link. */
  readonly name: string;
}

/** One entry for a device. */
export interface DeviceEntry {
  readonly mapPath: string;
  readonly name: string;
  /** Bound over a file; otherwise linked. */
  readonly isBind: boolean;
}

const folderMode = 0o750;
const losetupTimeoutMs = 30_000;
const deviceNotFound = "device not found";

/** Done again, it leaves what is there. */
export async function mapBlockDevice(
  deps: BlockMapDeps,
  map: BlockMap,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { podUid, globalMapPath, podMapPath, name } = map;
  const bind = { mapPath: globalMapPath, name: podUid, isBind: true };
  const bound = await mapDevice(deps, bind, devicePath, signal);
  if (!bound.ok) {
    const where = `globalMapPath:${globalMapPath}, podUID: ${podUid}`;
    return failedMap(`devicePath: ${devicePath}, ${where}, bindMount: true`, bound.error);
  }
  const link = { mapPath: podMapPath, name, isBind: false };
  const linked = await mapDevice(deps, link, devicePath, signal);
  if (!linked.ok) {
    const where = `podVolumeMapPath:${podMapPath}, volumeMapName: ${name}`;
    return failedMap(`devicePath: ${devicePath}, ${where}, bindMount: false`, linked.error);
  }
  const held = await attachLoop(deps, joinPath(globalMapPath, podUid), signal);
  if (held.ok) return ok(undefined);
  const where = `globalMapPath:${globalMapPath}, podUID: ${podUid}`;
  return err(`blkUtil.AttachFileDevice failed. ${where}: ${held.error}`);
}

function failedMap(where: string, reason: string): Result<never, string> {
  return err(`blkUtil.MapDevice failed. ${where}: ${reason}`);
}

export async function unmapBlockDevice(
  deps: BlockMapDeps,
  { podUid, globalMapPath, podMapPath, name }: BlockMap,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const failed = (where: string, reason: string): Result<never, string> =>
    err(`blkUtil.DetachFileDevice failed. ${where}: ${reason}`);
  const released = await detachLoop(deps, joinPath(globalMapPath, podUid), signal);
  if (!released.ok) {
    return failed(`globalUnmapPath:${globalMapPath}, podUID: ${podUid}`, released.error);
  }
  const link = { mapPath: podMapPath, name, isBind: false };
  const unlinked = await unmapDevice(deps, link, signal);
  if (!unlinked.ok) {
    const where = `podDeviceUnmapPath:${podMapPath}, volumeMapName: ${name}, bindMount: false`;
    return failed(where, unlinked.error);
  }
  const bind = { mapPath: globalMapPath, name: podUid, isBind: true };
  const unbound = await unmapDevice(deps, bind, signal);
  if (unbound.ok) return unbound;
  const where = `globalUnmapPath:${globalMapPath}, podUID: ${podUid}, bindMount: true`;
  return failed(where, unbound.error);
}

export async function mapDevice(
  deps: BlockMapDeps,
  { mapPath, name, isBind }: DeviceEntry,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const failed = "failed to map device to map path.";
  if (devicePath === "") return err(`${failed} devicePath is empty`);
  if (mapPath === "") return err(`${failed} mapPath is empty`);
  if (!mapPath.startsWith("/")) {
    return err(`the map path should be absolute: map path: ${mapPath}`);
  }
  try {
    await deps.files.ensureFolder(mapPath, folderMode);
  } catch (error) {
    return err(`failed to mkdir ${mapPath}: ${errorText(error)}`);
  }
  const path = joinPath(mapPath, name);
  return isBind ? bindDevice(deps, path, devicePath, signal) : linkDevice(deps, path, devicePath);
}

async function bindDevice(
  { devices, files, mounts }: BlockMapDeps,
  path: string,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  try {
    if ((await devices.deviceNumber(path)) !== undefined) return ok(undefined);
    if ((await devices.entryAt(path)) === undefined) await files.overwrite(path, "", folderMode);
  } catch (error) {
    return err(`failed to open file ${path}: ${errorText(error)}`);
  }
  const bind = {
    source: devicePath,
    target: path,
    fileSystem: "",
    options: ["bind"],
    withoutSystemd: true,
  };
  const mounted = await mounts.mount(bind, signal);
  if (mounted.ok) return ok(undefined);
  const what = `devicePath: ${devicePath} to linkPath ${path}`;
  return err(`failed to bind mount ${what}: ${mounted.error}`);
}

/**
 * A link from before a restart of the machine may lead to another device by now, so that it is replaced, and in one step: a pod
 * without its link is one without the device for an agent that starts then.
 */
async function linkDevice(
  { files }: BlockMapDeps,
  path: string,
  devicePath: string,
): Promise<Result<void, string>> {
  try {
    await files.symlink(devicePath, path);
    return ok(undefined);
  } catch (error) {
    return err(`failed to remove file ${path}: ${errorText(error)}`);
  }
}

export async function unmapDevice(
  deps: BlockMapDeps,
  { mapPath, name, isBind }: DeviceEntry,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { devices, files, mounts } = deps;
  if (mapPath === "") return err("failed to unmap device from map path. mapPath is empty");
  const path = joinPath(mapPath, name);
  try {
    const entry = await devices.entryAt(path);
    if (!isBind) {
      if (entry === "link") await files.removeEntry(path);
      return ok(undefined);
    }
    if (entry === "device") {
      const unmounted = await mounts.unmountVolume(path, {}, signal);
      if (!unmounted.ok) return err(`failed to unmount linkPath ${path}: ${unmounted.error}`);
    }
    await files.removeEntry(path);
    return ok(undefined);
  } catch (error) {
    signal.throwIfAborted();
    return err(`failed to remove file ${path}: ${errorText(error)}`);
  }
}

/** Removes a folder of devices that nothing is bound in any more. */
export async function removeMapPath(
  { foreignFiles }: BlockMapDeps,
  mapPath: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  if (mapPath === "") return err("failed to remove map path. mapPath is empty");
  try {
    await foreignFiles.removeTree(mapPath, signal);
    return ok(undefined);
  } catch (error) {
    signal.throwIfAborted();
    return err(`failed to remove directory ${mapPath}: ${errorText(error)}`);
  }
}

/**
 * The entry of a pod below a plugin's folder that is the same device as the pod's link; undefined when there is none. What
 * drivers mounted there is not looked into.
 */
export async function findGlobalMapPath(
  { devices, files, mounts }: BlockMapDeps,
  { pluginFolder, podLink, podUid }: { pluginFolder: string; podLink: string; podUid: PodUid },
): Promise<Result<string | undefined, string>> {
  if ((await devices.entryAt(pluginFolder)) === undefined) {
    const problem = `lstat ${pluginFolder}: no such file or directory`;
    return err(`FindGlobalMapPathUUIDFromPod failed: ${problem}`);
  }
  const wanted = await devices.deviceNumber(podLink);
  const mountPoints = new Set(
    (await mounts.listBelow(pluginFolder)).map((entry) => entry.mountPoint),
  );
  let found: string | undefined;
  const folders = [pluginFolder];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await files.list(folder)) {
      const path = joinPath(folder, name);
      const entry = await devices.entryAt(path);
      if (entry === "folder" && !mountPoints.has(path)) folders.push(path);
      if (entry !== "device" || name !== podUid || wanted === undefined) continue;
      if ((await devices.deviceNumber(path)) === wanted) found = path;
    }
  }
  return ok(found);
}

async function attachLoop(
  deps: BlockMapDeps,
  path: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const found = await findLoop(deps, path);
  if (!found.ok) return err(`GetLoopDevice failed for path ${path}: ${found.error}`);
  if (found.value !== undefined) return ok(undefined);
  const made = await losetup(deps, ["-f", path], signal);
  if (!made.ok) return err(`makeLoopDevice failed for path ${path}: ${made.error}`);
  const attached = await findLoop(deps, path);
  if (attached.ok && attached.value !== undefined) return ok(undefined);
  const reason = attached.ok ? deviceNotFound : attached.error;
  return err(`makeLoopDevice failed for path ${path}: ${reason}`);
}

async function detachLoop(
  deps: BlockMapDeps,
  path: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const found = await findLoop(deps, path);
  if (!found.ok) return err(`GetLoopDevice failed for path ${path}: ${found.error}`);
  if (found.value === undefined) return ok(undefined);
  const removed = await losetup(deps, ["-d", found.value], signal);
  if (removed.ok || (await deps.devices.entryAt(found.value)) === undefined) return ok(undefined);
  return err(`removeLoopDevice failed for path ${path}: ${removed.error}`);
}

async function findLoop(
  { devices, files }: BlockMapDeps,
  path: string,
): Promise<Result<string | undefined, string>> {
  try {
    const real = await files.realPath(path);
    if (real === undefined) return ok(undefined);
    const loops = await devices.loopDevices();
    const found = loops.find(({ backingFile }) => backingFile === path || backingFile === real);
    return ok(found?.device);
  } catch (error) {
    return err(`not attachable: ${errorText(error)}`);
  }
}

async function losetup(
  { commands }: BlockMapDeps,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const failed = `losetup ${args.join(" ")} failed`;
  try {
    const options = { timeoutMs: losetupTimeoutMs };
    const { exitCode } = await commands.run(["losetup", ...args], options, signal);
    return exitCode === 0 ? ok(undefined) : err(`${failed}: exit status ${exitCode}`);
  } catch (error) {
    signal.throwIfAborted();
    return err(`${failed}: ${errorText(error)}`);
  }
}
