import { pluginDevicesDirectory, pluginDirectory } from "../../../core/paths/data-paths.ts";
import {
  csiBlockDataDirectory,
  csiGlobalMountFolder,
  csiStagingPath,
} from "../../../core/storage/csi/csi-paths.ts";
import { csiPluginName } from "../../../core/storage/csi/csi-volume.ts";
import {
  reconstructCsiBlockVolume,
  stagedCsiVolume,
  volumeDataPath,
} from "../../../core/storage/csi/volume-data.ts";
import { errorText } from "../../../lib/error-text.ts";
import { joinPath, splitPath } from "../../../lib/path.ts";
import { err, ok } from "../../../lib/result.ts";
import type { FoundDevice } from "../storage-plugin.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { openVolumeData, readVolumeData } from "./csi-volume-files.ts";

type FindDeps = Pick<CsiPluginDeps, "names" | "files" | "mounts" | "log">;

/** The volumes that have a folder on the node: each is staged, or was to be, or is not removed yet. */
export async function findCsiDevices(deps: FindDeps): Promise<readonly FoundDevice[]> {
  const { names } = deps;
  const folder = pluginDirectory(names.rootFolder, csiPluginName);
  const blocks = pluginDevicesDirectory(names.rootFolder, csiPluginName);
  const found: FoundDevice[] = [];
  for (const driver of await listNames(deps, folder)) {
    const driverFolder = joinPath(folder, driver);
    if (driverFolder === blocks) continue;
    for (const name of await listNames(deps, driverFolder)) {
      const device = await findMounted(deps, joinPath(driverFolder, name));
      if (device !== undefined) found.push(device);
    }
  }
  for (const name of await listNames(deps, blocks)) {
    const device = await findBlock(deps, name);
    if (device !== undefined) found.push(device);
  }
  return found;
}

/** One that is not a folder, or cannot be read, must not hide the others. */
async function listNames({ files, log }: FindDeps, folder: string): Promise<readonly string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    log.warn("a folder of staged volumes cannot be read", { folder, error: errorText(error) });
    return [];
  }
}

/** Undefined for an empty folder, which a driver that does not stage has too. */
async function findMounted(deps: FindDeps, folder: string): Promise<FoundDevice | undefined> {
  const { names, mounts } = deps;
  const path = joinPath(folder, csiGlobalMountFolder);
  const read = await readVolumeData(deps, folder);
  if (read.ok && read.value === undefined && !(await mounts.isMountPoint(path))) return undefined;
  const volume = stagedCsiVolume(folder, await openVolumeData(deps, folder));
  if (!volume.ok) return { path, volume };
  const { spec, seLinuxMountContext } = volume.value;
  const expected = csiStagingPath(names.rootFolder, spec, names.sha256);
  if (expected.ok && expected.value === path)
    return { path, volume: ok(spec), seLinuxMountContext };
  const message = `${volumeDataPath(folder)} is the record of a volume that would be staged elsewhere`;
  return { path, volume: err({ kind: "final", message }) };
}

/** Undefined for a folder without a record: those of staged and of published devices are beside the volumes' own. */
async function findBlock(deps: FindDeps, name: string): Promise<FoundDevice | undefined> {
  const dataFolder = csiBlockDataDirectory(deps.names.rootFolder, name);
  const read = await readVolumeData(deps, dataFolder);
  if (read.ok && read.value === undefined) return undefined;
  const file = await openVolumeData(deps, dataFolder);
  const path = splitPath(dataFolder).folder;
  const known = reconstructCsiBlockVolume({ mapPath: path, dataFolder }, file);
  return { path, volume: known.ok ? ok(known.value.spec) : known };
}
