import { memoryVolumeBytes } from "../../core/volume/empty-dir-size.ts";
import { hugePageSize, isHugePagesMedium } from "../../core/volume/huge-page-size.ts";
import { quoteText } from "../../lib/go-text.ts";
import { splitPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Pod } from "../../model/pod.ts";
import type { VolumeOwnership } from "../../ports/foreign-files.ts";
import { readyFolder } from "./volume-folders.ts";
import type { VolumePluginDeps } from "./volume-plugin.ts";

/** A folder for a volume, on disk or in memory. */
export interface VolumeFolder {
  readonly path: string;
  /** "" for the disk, Memory, or huge pages. */
  readonly medium: string;
  readonly sizeLimit?: string | undefined;
  readonly pod: Pod;
  /** Under which the folder is marked as complete. */
  readonly readyName: string;
  readonly ownership: VolumeOwnership | undefined;
}

const everyone = 0o777;
const readyFile = "ready";

/** Makes the folder, with the mark that it is complete; one that is marked stays as it is. */
export async function makeVolumeFolder(
  deps: VolumePluginDeps,
  folder: VolumeFolder,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { files, foreignFiles, mounts, rootFolder } = deps;
  const { path, medium, pod, ownership } = folder;
  const ready = readyFolder(rootFolder, pod.metadata.uid, folder.readyName);
  const isMounted = await mounts.isMountPoint(path);
  const isMarked = (await files.list(ready)).includes(readyFile);
  const isComplete = medium === "" ? await exists(deps, path) : isMounted;
  if (isMarked && isComplete) return ok(undefined);
  await files.ensureFolder(path, everyone);
  if (medium !== "" && !isMounted) {
    const done = await mountMemory(deps, folder, signal);
    if (!done.ok) return done;
  }
  if (ownership !== undefined) await foreignFiles.changeOwnership(path, ownership, signal);
  await files.ensureFolder(ready, 0o750);
  await files.writeFile(`${ready}/${readyFile}`, "", 0o644);
  return ok(undefined);
}

async function mountMemory(
  { mounts, allocatable }: VolumePluginDeps,
  { path, medium, sizeLimit, pod }: VolumeFolder,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  if (medium === "Memory") {
    const size = memoryVolumeBytes(pod, sizeLimit, allocatable["memory"]);
    return ok(await mounts.mountTmpfs(path, size, signal));
  }
  if (!isHugePagesMedium(medium)) return err(`unknown storage medium ${quoteText(medium)}`);
  const pageSize = hugePageSize(medium, pod);
  if (!pageSize.ok) return pageSize;
  return ok(await mounts.mountHugePages(path, pageSize.value, signal));
}

async function exists({ files }: VolumePluginDeps, path: string): Promise<boolean> {
  const { folder, name } = splitPath(path);
  return (await files.list(folder)).includes(name);
}
