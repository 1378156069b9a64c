import type { FsLayout } from "../../../core/eviction/threshold.ts";
import type { FilesystemUsage } from "../../../model/generated/cri.ts";
import type { ImageService } from "../../../ports/container-runtime.ts";
import type { FileSystemUsage, HostUsage } from "../../../ports/host-usage.ts";

/** The file systems of images and containers, as far as the runtime says where they are. */
export class ImageFileSystems {
  readonly #runtime: Pick<ImageService, "imageFsInfo">;
  readonly #host: Pick<HostUsage, "fileSystem">;
  readonly #rootFolder: string;

  constructor(
    runtime: Pick<ImageService, "imageFsInfo">,
    host: Pick<HostUsage, "fileSystem">,
    rootFolder: string,
  ) {
    this.#runtime = runtime;
    this.#host = host;
    this.#rootFolder = rootFolder;
  }

  /** How full the disk is that holds images; rejects when it is not known. */
  async imageUsage(signal: AbortSignal): Promise<FileSystemUsage> {
    const { imageFilesystems } = await this.#runtime.imageFsInfo(signal);
    const usage = await this.#usageOf(imageFilesystems);
    if (usage === undefined) throw new Error("the runtime does not report where images are");
    return usage;
  }

  /** Which of the node's data, images and containers share a file system. */
  async layout(signal: AbortSignal): Promise<FsLayout> {
    const { imageFilesystems, containerFilesystems } = await this.#runtime.imageFsInfo(signal);
    const images = await this.#usageOf(imageFilesystems);
    const containers = await this.#usageOf(containerFilesystems);
    const node = await this.#host.fileSystem(this.#rootFolder);
    if (images === undefined || node === undefined) {
      throw new Error("it is not known on which file systems images and data are");
    }
    return {
      dedicatedImageFs: images.device !== node.device,
      splitContainerFs: containers !== undefined && containers.device !== images.device,
    };
  }

  async #usageOf(
    filesystems: readonly FilesystemUsage[] | undefined,
  ): Promise<FileSystemUsage | undefined> {
    const path = filesystems?.[0]?.fsId?.mountpoint;
    return path === undefined ? undefined : await this.#host.fileSystem(path);
  }
}
