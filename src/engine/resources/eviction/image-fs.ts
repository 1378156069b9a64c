import type { FsLayout } from "../../../core/eviction/threshold.ts";
import type { FilesystemUsage } from "../../../model/generated/cri.ts";
import type { ImageService } from "../../../ports/container-runtime.ts";
import type { FileSystemUsage, HostUsage } from "../../../ports/host-usage.ts";

export interface ImageFsDeps {
  readonly runtime: Pick<ImageService, "imageFsInfo">;
  readonly host: Pick<HostUsage, "fileSystem">;
}

/** The file system that holds images; rejects when it is not known. */
export async function readImageFs(
  deps: ImageFsDeps,
  signal: AbortSignal,
): Promise<FileSystemUsage> {
  const { imageFilesystems } = await deps.runtime.imageFsInfo(signal);
  const usage = await fileSystemOf(deps, imageFilesystems);
  if (usage === undefined) throw new Error("the runtime does not tell where images are");
  return usage;
}

/** Which of the node's data, images and containers share a file system. */
export async function readFsLayout(
  deps: ImageFsDeps,
  rootFolder: string,
  signal: AbortSignal,
): Promise<FsLayout> {
  const { imageFilesystems, containerFilesystems } = await deps.runtime.imageFsInfo(signal);
  const images = await fileSystemOf(deps, imageFilesystems);
  const containers = await fileSystemOf(deps, containerFilesystems);
  const node = await deps.host.fileSystem(rootFolder);
  if (images === undefined || node === undefined) {
    throw new Error("it is not known on which file systems images and data are");
  }
  return {
    dedicatedImageFs: images.device !== node.device,
    splitContainerFs: containers !== undefined && containers.device !== images.device,
  };
}

async function fileSystemOf(
  { host }: ImageFsDeps,
  filesystems: readonly FilesystemUsage[] | undefined,
): Promise<FileSystemUsage | undefined> {
  const path = filesystems?.[0]?.fsId?.mountpoint;
  return path === undefined ? undefined : await host.fileSystem(path);
}
