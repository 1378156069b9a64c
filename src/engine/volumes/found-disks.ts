import { pluginDevicesDirectory, pluginDirectory } from "../../core/paths/data-paths.ts";
import { seLinuxContextOf } from "../../core/storage/selinux-context.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import type { VolumeSpec } from "../../core/storage/volume-spec.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinPath } from "../../lib/path.ts";
import { isPathWithin } from "../../lib/path-within.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { DiskVolumeDeps } from "./disk-volume.ts";
import type { FoundDevice } from "./storage-plugin.ts";

type FindDeps = Pick<DiskVolumeDeps, "rootFolder" | "files" | "mounts" | "log">;

/** One way in which a plugin has disks on the node: mounted, or as raw devices. */
interface DiskForm {
  /** The volume that is used by that folder. */
  specOf(volumeName: string, folder: string): Result<VolumeSpec, StorageError>;
  /** The folder of a volume. */
  folderOf(spec: VolumeSpec): Result<string, StorageError>;
}

export interface DiskLayout {
  readonly plugin: string;
  /** What the names of the folders begin with that have the folders of disks; undefined = the disks are in the plugin's own. */
  readonly groupPrefix: string | undefined;
  /** Written into the folder of a disk that is attached; undefined = only its mount shows that. */
  readonly recordName: string | undefined;
  readonly mounted: DiskForm;
  readonly block: DiskForm;
}

/** The disks that an agent attached or mounted, also those that no pod has any more. What cannot be understood counts while something is mounted there. */
export async function findDisks(
  deps: FindDeps,
  layout: DiskLayout,
): Promise<readonly FoundDevice[]> {
  const { rootFolder } = deps;
  const mounted = await deps.mounts.list();
  const found: FoundDevice[] = [];
  for (const folder of await diskFolders(
    deps,
    layout,
    pluginDirectory(rootFolder, layout.plugin),
  )) {
    const isMounted = mounted.some(({ mountPoint }) => mountPoint === folder);
    if (!isMounted && !(await isRecorded(deps, layout, folder))) continue;
    const volume = understand(layout.mounted, folder);
    const seLinuxMountContext = isMounted ? seLinuxContextOf(mounted, folder) : undefined;
    if (volume.ok || isMounted) found.push({ path: folder, volume, seLinuxMountContext });
  }
  const blocks = pluginDevicesDirectory(rootFolder, layout.plugin);
  for (const folder of await diskFolders(deps, layout, blocks)) {
    if ((await listNames(deps, folder)).length === 0) continue;
    const volume = understand(layout.block, folder);
    const isMounted = mounted.some(({ mountPoint }) => isPathWithin(mountPoint, folder));
    if (volume.ok || isMounted) found.push({ path: folder, volume });
  }
  return found;
}

async function diskFolders(
  deps: FindDeps,
  { plugin, groupPrefix }: DiskLayout,
  folder: string,
): Promise<readonly string[]> {
  const devices = pluginDevicesDirectory(deps.rootFolder, plugin);
  const paths = (await listNames(deps, folder)).map((name) => joinPath(folder, name));
  const own = paths.filter((path) => path !== devices);
  if (groupPrefix === undefined) return own;
  const groups = own.filter((path) => path.startsWith(joinPath(folder, groupPrefix)));
  const grouped = groups.map(async (group) =>
    (await listNames(deps, group)).map((name) => joinPath(group, name)),
  );
  return (await Promise.all(grouped)).flat();
}

/** One that is not a folder, or cannot be read, must not hide the others. */
async function listNames({ files, log }: FindDeps, folder: string): Promise<readonly string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    log.warn("a folder of disks cannot be read", { folder, error: errorText(error) });
    return [];
  }
}

async function isRecorded(
  { files, log }: FindDeps,
  { recordName }: DiskLayout,
  folder: string,
): Promise<boolean> {
  if (recordName === undefined) return false;
  const path = joinPath(folder, recordName);
  try {
    return (await files.readText(path)) !== undefined;
  } catch (error) {
    log.warn("the record of a disk cannot be read", { path, error: errorText(error) });
    return false;
  }
}

/** Only what leads back to the same folder: another one would be unmounted elsewhere. */
function understand(form: DiskForm, folder: string): Result<VolumeSpec, StorageError> {
  const spec = form.specOf(folder.slice(folder.lastIndexOf("/") + 1), folder);
  if (!spec.ok) return spec;
  const expected = form.folderOf(spec.value);
  if (!expected.ok) return expected;
  if (expected.value === folder) return ok(spec.value);
  const message = `${folder} is not where the volume would be that it names: ${expected.value}`;
  return err({ kind: "final", message });
}
